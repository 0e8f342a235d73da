"""What the judge's defenses cost: this checkout beside an older one, in turn, in one run.

Times a warm check and a whole transform after an edit, and processor seconds of a million
emulated threads (bench/thread_steps.py). Each figure is the median of the repeats; the ratio is the
median of the ratios pair by pair, which drifts less than either time on a shared machine.

    git worktree add /tmp/before 7f6def2
    python bench/judge_cost.py --before /tmp/before [--repeats N] [--json]
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from common import ROOT, arguments, show

EXAMPLE = "moe"

Measure = Callable[[Path, Path, int], Mapping[str, float]]


def _run(checkout: Path, cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package of `checkout`; ends the benchmark where it fails."""
    done = subprocess.run(
        [sys.executable, *command],
        env={
            **os.environ,
            "PYTHONPATH": str(checkout / "src"),
            "WARPLOOM_CACHE": str(cache),
        },
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{checkout}: {' '.join(command)} ended with {done.returncode}:\n"
                         f"{done.stdout[-2000:]}{done.stderr[-2000:]}")  # fmt: skip
    return done


def _edited(checkout: Path, folder: Path, edit: int) -> Path:
    """Return a copy of the example whose program differs by a trailing comment."""
    source = checkout / "examples" / EXAMPLE
    copy = folder / f"edit-{edit}"
    copy.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    program = copy / f"{EXAMPLE}.cu"
    program.write_text(f"{program.read_text()}\n// edit {edit}\n")
    return copy


def whole_commands(checkout: Path, cache: Path, edit: int) -> Mapping[str, float]:
    """Return the wall seconds of a check and of a transform of an edited program."""
    with tempfile.TemporaryDirectory() as name:
        copy = _edited(checkout, Path(name), edit)
        started = time.perf_counter()
        _run(checkout, cache, "-m", "warploom.cli", "check", str(copy))
        checked = time.perf_counter()
        out = str(Path(name) / "out")
        _run(checkout, cache, "-m", "warploom.cli", "transform", str(copy), "--api", "gin",
             "--out", out)  # fmt: skip
        ended = time.perf_counter()
    return {"check, warm": checked - started, "transform --api gin": ended - checked}


def thread_steps(checkout: Path, cache: Path, edit: int) -> Mapping[str, float]:
    """Return the processor seconds of each kernel of bench/thread_steps.py; `edit` is not used."""
    del edit
    script = str(checkout / "bench" / "thread_steps.py")
    done = _run(checkout, cache, script, "--json", "--repeats", "3")
    return {
        f"{row['kernel']}, happens-before {row['happens-before']}": row["seconds"]
        for row in json.loads(done.stdout)["rows"]
    }


def compare(measure: Measure, before: Path, repeats: int) -> list[dict[str, str | float]]:
    """Return a row for each figure of `measure`, taken in turn from `before` and from here."""
    pairs: list[tuple[Mapping[str, float], Mapping[str, float]]] = []
    with tempfile.TemporaryDirectory() as name:
        caches = {ROOT: Path(name) / "after", before: Path(name) / "before"}
        for checkout, cache in caches.items():
            measure(checkout, cache, 0)  # the runtime is compiled
        for repeat in range(1, repeats + 1):
            old = measure(before, caches[before], repeat)
            pairs.append((old, measure(ROOT, caches[ROOT], repeat)))
    return [
        {
            "figure": figure,
            "before s": median(old[figure] for old, _ in pairs),
            "after s": median(new[figure] for _, new in pairs),
            "after / before": median(new[figure] / old[figure] for old, new in pairs),
        }
        for figure in pairs[0][0]
    ]


def main() -> None:
    """Measure both checkouts in turn."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--before", type=Path, required=True, help="an older checkout")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    before = options.before.resolve()
    rows = [
        row
        for measure in (whole_commands, thread_steps)
        for row in compare(measure, before, options.repeats)
    ]
    show(rows, options.json, "cost of the judge's defenses")


if __name__ == "__main__":
    main()
