"""What the benchmarks share: timing one command, and printing rows as a table or as JSON."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = tuple(sorted(p.parent for p in (ROOT / "examples").glob("*/workload.toml")))

Row = Mapping[str, str | int | float]

_NO_BYTECODE = ("PYTHONDONTWRITEBYTECODE",)  # what users have is measured


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    return parser


def warploom(*args: str, cache: Path) -> tuple[float, int]:
    """Run the command line as a user would; return seconds of wall time and the exit code."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "warploom.cli", *args],
        env={**os.environ, "WARPLOOM_CACHE": str(cache)},
        capture_output=True,
        check=False,
    )
    return time.perf_counter() - started, done.returncode


def run_python(checkout: Path, cache: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package of `checkout`; ends the benchmark where it fails."""
    variables = {name: value for name, value in os.environ.items() if name not in _NO_BYTECODE}
    done = subprocess.run(
        [sys.executable, *command],
        env={**variables, "PYTHONPATH": str(checkout / "src"), "WARPLOOM_CACHE": str(cache)},
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(
            f"{checkout}: {' '.join(command)} ended with {done.returncode}:\n"
            f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done


def show(rows: Sequence[Row], as_json: bool, title: str) -> None:
    """Print rows: aligned columns, or JSON."""
    if as_json:
        print(json.dumps({"title": title, "rows": [dict(row) for row in rows]}, indent=2))
        return
    print(f"{title}  ({len(os.sched_getaffinity(0))} cores)")
    columns = list(rows[0])
    table = [columns, *([_text(row[c]) for c in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: str | float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
