"""Runs one search over levers in a process of its own, to be killed: FOLDER NAME OVERRIDES...

Where the folder has a file `stalls-once`, the first judgment that is not of a seed stalls.
"""

import sys
from dataclasses import replace
from pathlib import Path

from evolve_bench import EVALUATOR, START, Bench, StallsOnce

from warploom.testing.search import LevelSeeds, level_text


def main() -> None:
    folder, name, seconds, *overrides = sys.argv[1:]
    place = Path(folder)
    evaluator = replace(EVALUATOR, log=place / f"{name}.log", seconds=float(seconds))
    stalls = (place / "stalls-once").is_file()
    bench = Bench(
        place, place / "levers.cu",
        StallsOnce(evaluator, place / "stalled") if stalls else evaluator,
        LevelSeeds({"gin": level_text(START, "gin"), "lsa": level_text(START, "lsa")}),
    )  # fmt: skip
    resume = (place / name / "run.json").is_file()
    bench.run(name, *overrides, seed=5, resume=resume)


if __name__ == "__main__":
    main()
