"""Stands where GPUs would be: does a command of warploom's with the emulator's times as measured.

It notes on which node, and with which GPUs, it was started: COMMAND, behind the file for that.
"""

import os
import sys
from pathlib import Path

from warploom.evaluation.observed.measured import Measured
from warploom.evolve import elsewhere
from warploom.evolve.config import JudgingConfig
from warploom.evolve.evaluator import Question, judge_for
from warploom.workload.workload import Workload


def measure(
    candidate: Path, workload: Workload, *, inputs: tuple[int, ...], repeats: int
) -> Measured:
    judge = judge_for(workload, JudgingConfig(nvcc=False), 1)
    found = judge(candidate, Question("lsa", inputs))
    assert found.time_ms is not None, found.feedback
    return Measured(found.time_ms, found.public["baseline_ms"], 1.0, repeats)


def main() -> None:
    log = Path(sys.argv[1])
    with log.open("a") as file:
        file.write(f"{os.environ['SLURMD_NODENAME']} {os.environ.get('CUDA_VISIBLE_DEVICES')}\n")
    elsewhere.measure = measure
    elsewhere.main()


if __name__ == "__main__":
    main()
