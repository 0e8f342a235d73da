"""CPU nodes verify, GPUs take times elsewhere; a candidate is judged on several nodes by srun.

The GPUs are fake ones of a real Slurm; the emulator stands in their place.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_measured import EXAMPLE, QUESTION, candidate

from warploom.core.errors import MissingToolError
from warploom.evolve.compose import ConfigError, compose
from warploom.evolve.elsewhere import measure_elsewhere
from warploom.evolve.measured import MeasuredEvaluator
from warploom.jobs import JobConfig, Loss, Task, WorkLostError
from warploom.jobs.slurm import SlurmEngine
from warploom.testing.engines import collect
from warploom.testing.services import Slurm
from warploom.workload.workload import Workload

__all__ = ["candidate"]

GPU = Path(__file__).with_name("emulated_gpu.py")
TASK = Workload.from_file(EXAMPLE).with_overrides(ranks=2)


@dataclass(frozen=True, slots=True)
class Judges:
    """Judges a candidate, as a search does."""

    evaluator: MeasuredEvaluator
    candidate: Path

    def __call__(self) -> object:
        return self.evaluator(self.candidate, QUESTION)


def test_nodes_without_gpus_verify_and_others_take_the_time(
    slurm_cluster: Slurm, tmp_path: Path, candidate: Callable[..., Path]
) -> None:
    log = tmp_path / "gpus"
    command = shlex.join(
        ["srun", "--quiet", "--ntasks=1", "--gpus=2", sys.executable, str(GPU), str(log)]
    )
    engine = SlurmEngine(JobConfig(engine="slurm"), 2, tmp_path / "jobs")
    try:
        evaluator = MeasuredEvaluator(TASK, 3, 1, command)
        for key, tile in enumerate(("16", "32")):
            place = candidate(size__TILE=tile).rename(tmp_path / f"{tile}.cu")
            engine.submit(Task(key, Judges(evaluator, place)))
        for done in collect(engine, 2, 240.0).values():
            assert done.error is None
            assert done.value.correct, done.value.feedback
            assert done.value.time_source == "measured" and done.value.public["pairs"] == 3.0
    finally:
        engine.close()
    lines = log.read_text().splitlines()
    assert len(lines) == 2
    assert all(line.split()[1] == "0,1" for line in lines)


def test_a_command_that_fails_says_nothing_of_the_candidate(candidate: Callable[..., Path]) -> None:
    place = candidate()
    with pytest.raises(WorkLostError, match="ended with exit code 3: no such partition") as lost:
        measure_elsewhere(
            "sh -c 'echo no such partition >&2; exit 3'", place, TASK, inputs=(5,), repeats=1
        )
    assert lost.value.loss is Loss.DIED
    with pytest.raises(MissingToolError, match="gpu_command cannot be run: nowhere"):
        measure_elsewhere("nowhere --gpus=2", place, TASK, inputs=(5,), repeats=1)
    with pytest.raises(ConfigError, match="gpu_command is for backend=cuda"):
        compose(["evaluation.gpu_command=srun"])
    with pytest.raises(ConfigError, match="must be a command"):
        compose(["evaluation.backend=cuda", "evaluation.gpu_command=' '"])


@dataclass(frozen=True, slots=True)
class EvaluatesOnAllNodes:
    """Has `warploom eval` judge a candidate on each node of the job, started by srun."""

    candidate: Path
    folder: Path

    def __call__(self) -> object:
        words = [sys.executable, "-m", "warploom.cli", "eval", str(self.candidate), str(EXAMPLE)]
        line = f"{shlex.join([*words, '--json', '--ranks', '2', '--level', '2'])} > "
        line += f"{self.folder}/$SLURMD_NODENAME.$CUDA_VISIBLE_DEVICES"
        done = subprocess.run(
            ["srun", "--ntasks-per-node=1", "--gpus-per-node=2", "bash", "-c", line],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr


def test_a_candidate_is_judged_on_several_nodes(
    slurm_cluster: Slurm, tmp_path: Path, candidate: Callable[..., Path]
) -> None:
    (tmp_path / "said").mkdir()
    asked = JobConfig.model_validate({"engine": "slurm", "gpus": 2, "slurm": {"nodes": 2}})
    engine = SlurmEngine(asked, 1, tmp_path / "jobs")
    try:
        engine.submit(Task(1, EvaluatesOnAllNodes(candidate(), tmp_path / "said")))
        done = collect(engine, 1, 240.0)[1]
        assert done.error is None and done.value[0] == 0, done
    finally:
        engine.close()
    said = sorted((tmp_path / "said").iterdir())
    assert [path.name for path in said] == ["n1.0,1", "n2.0,1"]
    assert all(json.loads(path.read_text())["passed"] for path in said)
