"""Prints what `warploom optimize` makes of the examples: modelled times, by rules alone.

    python bench/optimize_examples.py [--only NAME,...] [--seed N] [--topology NAME] [--again]
        [--folder DIR] [--json] [KEY=VALUE ...]

Each row is one run of `warploom optimize examples/NAME evaluation.topology=NAME --seed N`, in a
folder of its own, with the further settings. Times are milliseconds of what the example times
itself, where its workload scores that, else of the whole run; `transformed` is the best seed.
`--again` runs each twice and says whether both came to the same program and times. The exit code
is 1 where a run fails, or `--again` finds a difference.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import EXAMPLES, Row, arguments, show

_SAME = ("speedup", "baseline_ms", "seed_ms", "evaluations", "correct", "failures")


def optimized(example: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the command on an example; return its report, with the seconds of wall time."""
    command = [
        sys.executable, "-m", "warploom.cli", "optimize", str(example),
        f"evaluation.topology={options.topology}", *options.settings,
        "--seed", str(options.seed), "--out", str(folder), "--json",
    ]  # fmt: skip
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode > 1:
        print(f"{example.name}: {done.stderr[-1000:]}", file=sys.stderr)
        return {"failed": done.returncode, "wall": seconds}
    return {**json.loads(done.stdout), "wall": seconds}


def row(example: Path, reports: Sequence[dict[str, Any]], options: argparse.Namespace) -> Row:
    """Return the table's row for an example from its run, or from its two runs."""
    report = reports[0]
    if "failed" in report:
        return {"example": example.name, "profile": options.topology, "scored": "failed"}
    seeds = [ms for ms in report["seed_ms"].values() if ms is not None]
    found: dict[str, str | float] = {
        "example": example.name,
        "profile": options.topology,
        "scored": f"region {report['scored_region']}" if report["scored_region"] else "whole run",
        "host_ms": report["baseline_ms"],
        "transformed_ms": min(seeds),
        "best_ms": report["best"]["time_ms"],
        "speedup": report["speedup"],
        "evaluations": report["evaluations"],
        "correct": report["correct"],
        "seconds": report["wall"],
        "seed": str(options.seed),
    }
    if len(reports) > 1:
        found["again"] = "the same" if _alike(*reports) else "another"
    return found


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if "failed" in other or any(one[name] != other[name] for name in _SAME):
        return False
    texts = [Path(report["best"]["program"]).read_bytes() for report in (one, other)]
    return texts[0] == texts[1] and one["best"]["number"] == other["best"]["number"]


def main() -> int:
    """Print the table; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="of the configuration")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topology", default="h200-2x8")
    parser.add_argument("--again", action="store_true", help="run each twice, and compare")
    parser.add_argument("--folder", type=Path, help="where to keep the runs; default: nowhere")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [folder.name for folder in EXAMPLES]
    rows: list[Row] = []
    good = True
    with tempfile.TemporaryDirectory() as made:
        for example in EXAMPLES:
            if example.name not in wanted:
                continue
            base = options.folder or Path(made)
            names = [example.name, f"{example.name}-again"][: 1 + options.again]
            reports = [optimized(example, base / name, options) for name in names]
            rows.append(row(example, reports, options))
            good = good and "failed" not in reports[0] and rows[-1].get("again") != "another"
            print(" ".join(map(str, rows[-1].values())), file=sys.stderr, flush=True)
    show(
        [one for one in rows if "host_ms" in one] or rows, options.json, "Modelled times, by rules"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
