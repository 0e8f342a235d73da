"""What a change costs: this checkout beside an older one, in turn, in one run.

Times a check of an edited program, the same check again, and a whole transform of it (by the clock
and by the processor); by the processor, a million emulated threads (bench/thread_steps.py) and runs
of 2 to 16 ranks (bench/ranks.py). Each figure is the median of the repeats; the ratio is the median
of the ratios pair by pair, which drifts less than either time on a shared machine.

    git worktree add /tmp/before 7f6def2
    python bench/before_after.py --before /tmp/before [--repeats N] [--cache FOLDER] [--json]
                                  [--only commands|threads|ranks]

What is cached is named by its content, so that both can share the cache of --cache, where their
runtimes may be built already; each has a new one otherwise.
"""

import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from common import ROOT, arguments, run_python, show

EXAMPLE = "moe"

Measure = Callable[[Path, Path, int], Mapping[str, float]]


def _edited(checkout: Path, folder: Path, edit: int) -> Path:
    """Return a copy of the example whose program differs by a trailing comment."""
    source = checkout / "examples" / EXAMPLE
    copy = folder / f"edit-{edit}"
    copy.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    program = copy / f"{EXAMPLE}.cu"
    # No cache has it: other runs may have made the same edit.
    program.write_text(f"{program.read_text()}\n// edit {edit} {secrets.token_hex(8)}\n")
    return copy


def _timed(checkout: Path, cache: Path, *command: str) -> tuple[float, float]:
    """Return the seconds of a command of warploom's, by the clock and by the processor."""
    before, started = os.times(), time.perf_counter()
    run_python(checkout, cache, "-m", "warploom.cli", *command)
    ended, after = time.perf_counter(), os.times()
    used = after.children_user + after.children_system
    return ended - started, used - before.children_user - before.children_system


def whole_commands(checkout: Path, cache: Path, edit: int) -> Mapping[str, float]:
    """Return the seconds of checks and of a transform of an edited program."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        copy = str(_edited(checkout, Path(name), edit))
        out = str(Path(name) / "out")
        for what, command in (
            ("check, edited", ("check", copy)),
            ("check, again", ("check", copy)),
            ("transform --api gin", ("transform", copy, "--api", "gin", "--out", out)),
        ):
            wall, processor = _timed(checkout, cache, *command)
            found |= {what: wall, f"{what}, processor": processor}
    return found


def thread_steps(checkout: Path, cache: Path, edit: int) -> Mapping[str, float]:
    """Return the processor seconds of each kernel of bench/thread_steps.py; `edit` is not used."""
    del edit
    script = str(checkout / "bench" / "thread_steps.py")
    done = run_python(checkout, cache, script, "--json", "--repeats", "3")
    return {
        f"{row['kernel']}, happens-before {row['happens-before']}": row["seconds"]
        for row in json.loads(done.stdout)["rows"]
    }


def ranks(checkout: Path, cache: Path, edit: int) -> Mapping[str, float]:
    """Return the processor seconds of each row of bench/ranks.py; `edit` is not used."""
    del edit
    script = str(checkout / "bench" / "ranks.py")
    done = run_python(checkout, cache, script, "--json", "--most", "16", "--moe-most", "16")
    return {
        f"{row['program']}, {row['ranks']} ranks": row["s"]
        for row in json.loads(done.stdout)["rows"]
    }


MEASURES: Mapping[str, Measure] = {
    "commands": whole_commands, "threads": thread_steps, "ranks": ranks,
}  # fmt: skip


def compare(
    measure: Measure, before: Path, repeats: int, shared: Path | None
) -> list[dict[str, str | float]]:
    """Return a row for each figure of `measure`, taken in turn from `before` and from here."""
    pairs: list[tuple[Mapping[str, float], Mapping[str, float]]] = []
    with tempfile.TemporaryDirectory() as name:
        caches = {ROOT: shared or Path(name) / "after", before: shared or Path(name) / "before"}
        for checkout, cache in caches.items():
            for edit in (-1, 0):  # the runtime is compiled, then the headers
                measure(checkout, cache, edit)
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
    parser.add_argument("--cache", type=Path, help="a cache for both, kept")
    parser.add_argument("--only", choices=MEASURES, help="these figures alone")
    options = parser.parse_args()
    before = options.before.resolve()
    rows = [
        row
        for name, measure in MEASURES.items()
        if options.only in (None, name)
        for row in compare(measure, before, options.repeats, options.cache)
    ]
    show(rows, options.json, "cost of what changed")


if __name__ == "__main__":
    main()
