"""One runner of a search that several share, to be killed: FOLDER NAME SECONDS OVERRIDES..."""

import sys
from dataclasses import replace
from pathlib import Path

from evolve_bench import EVALUATOR, START, Bench

from warploom.testing.search import LevelSeeds, level_text


def main() -> None:
    folder, name, seconds, *overrides = sys.argv[1:]
    place = Path(folder)
    bench = Bench(
        place, place / "levers.cu",
        replace(EVALUATOR, log=place / f"{name}.log", seconds=float(seconds)),
        LevelSeeds({"gin": level_text(START, "gin"), "lsa": level_text(START, "lsa")}),
    )  # fmt: skip
    resume = (place / name / "run.json").is_file()
    bench.run(name, *overrides, seed=None, resume=resume)


if __name__ == "__main__":
    main()
