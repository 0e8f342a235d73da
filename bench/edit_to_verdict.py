"""How long a developer waits from an edit to the verdict, for every example at 4 ranks.

cold: nothing is cached, so the runtime is compiled too. warm: the runtime is cached and the
program was edited, so it alone is compiled. again: nothing was edited.

    python bench/edit_to_verdict.py [--json] [--transform] [--only NAME]
"""

import shutil
import tempfile
from pathlib import Path

from common import EXAMPLES, arguments, show, warploom


def edited_copy(example: Path, folder: Path, edit: int) -> Path:
    """Return a copy of the workload whose program differs by a trailing comment."""
    copy = folder / f"{example.name}-{edit}"
    shutil.copytree(example, copy)
    program = copy / f"{example.name}.cu"
    program.write_text(f"{program.read_text()}\n// edit {edit}\n")
    return copy


def measure(example: Path, repeats: int, transform: bool) -> dict[str, str | float]:
    """Return the seconds of each kind of run for one example."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = folder / "cache"

        def check(copy: Path) -> float:
            seconds, code = warploom(
                "check", str(copy), "--ranks", "4", "--seeds", "1", cache=cache
            )
            if code != 0:
                raise SystemExit(f"{example.name}: check ended with {code}")
            return seconds

        row: dict[str, str | float] = {"example": example.name}
        row["check cold s"] = check(edited_copy(example, folder, 0))
        warm = [(check(copy), check(copy)) for copy in
                (edited_copy(example, folder, i) for i in range(1, repeats + 1))]  # fmt: skip
        row["check warm s"] = min(edited for edited, _ in warm)
        row["check again s"] = min(again for _, again in warm)
        if transform:
            for api in ("gin", "lsa"):
                copy = edited_copy(example, folder, 100 + len(api) + ord(api[0]))
                seconds, code = warploom(
                    "transform", str(copy), "--api", api, "--ranks", "4",
                    "--out", str(folder / f"out-{api}"), cache=cache,
                )  # fmt: skip
                if code != 0:
                    raise SystemExit(f"{example.name}: transform --api {api} ended with {code}")
                row[f"transform {api} s"] = seconds
        return row


def main() -> None:
    """Measure all examples, one after another."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=3, help="edits; the fastest is shown")
    parser.add_argument("--transform", action="store_true", help="also time whole transforms")
    parser.add_argument("--only", help="the example of this name")
    options = parser.parse_args()
    chosen = [one for one in EXAMPLES if options.only in (None, one.name)]
    rows = [measure(example, options.repeats, options.transform) for example in chosen]
    show(rows, options.json, "edit to verdict, 4 ranks, check --seeds 1 (3 runs)")


if __name__ == "__main__":
    main()
