"""How long from an edit of one source of the emulator's runtime to the verdict of a check.

    git worktree add /tmp/before 7f6def2
    python bench/runtime_edit.py [--before /tmp/before] [--repeats N] [--json]

The package is copied, its runtime built once; then a comment is added to one source after another,
and an example is checked each time. `rebuild` is that check, `again` the same with nothing edited;
their difference is what the edit costs. With --before an older checkout takes turns with this one.
"""

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from common import ROOT, arguments, run_python, show

SOURCES = (
    "clock.cpp",
    "race.cpp",
    "nccl_collectives.cpp",
    "stream.cpp",
    "multimem.cpp",
    "warp.cpp",
)


class Checkout:
    """A copy of a checkout's package, and a cache of its own."""

    def __init__(self, name: str, root: Path, folder: Path) -> None:
        self.name, self.root, self.cache = name, folder, folder / "cache"
        self.source = folder / "src"
        shutil.copytree(root / "src", self.source)
        shutil.copytree(root / "examples" / "gemm_allgather", folder / "workload")
        self.workload = folder / "workload"

    def check(self) -> float:
        """Check the example; return the seconds."""
        began = time.perf_counter()
        run_python(
            self.root, self.cache, "-m", "warploom.cli", "check", str(self.workload), "--seeds", "1"
        )
        return time.perf_counter() - began

    def edit(self, name: str, number: int) -> bool:
        """Add a comment to a source of the runtime; False: there is none of that name."""
        runtime = self.source / "warploom" / "emulator" / "runtime"
        found = list(runtime.rglob(name))
        for path in found:
            path.write_text(f"{path.read_text()}\n// edit {number}\n")
        return bool(found)


def main() -> None:
    """Edit and check in turns."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--before", type=Path, help="an older checkout to compare with")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = {"now": ROOT} | ({"before": options.before} if options.before else {})
        checkouts = [Checkout(name, root, Path(folder, name)) for name, root in places.items()]
        for checkout in checkouts:
            checkout.check()  # builds its runtime
        rows: list[dict[str, str | float]] = []
        for name in SOURCES:
            row: dict[str, str | float] = {"edited source": name}
            for checkout in checkouts:
                took = [
                    checkout.check()
                    for number in range(options.repeats)
                    if checkout.edit(name, number)
                ]
                row[f"{checkout.name} rebuild s"] = median(took) if took else float("nan")
                row[f"{checkout.name} again s"] = checkout.check()
            rows.append(row)
    show(rows, options.json, "from an edit of the runtime to a verdict, check --seeds 1 (3 runs)")


if __name__ == "__main__":
    main()
