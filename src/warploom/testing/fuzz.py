"""Feeds spoiled and hostile programs to the command line, as a user would, and looks for a crash.

    python -m warploom.testing.fuzz [FOLDER ...] [--count N] [--seed S] [--jobs N]
                                    [--analyze-only] [--json]

Each program goes through `warploom analyze` and `warploom check`. Good is: the command ends by
itself within its limit, with exit code 0, 1, 2 or 3, with one JSON document on standard output and
no traceback. Exit 0: all were good.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from warploom.core.process import ProcessResult, default_environment, run_process
from warploom.core.records import Limits
from warploom.testing.mutate import mutate

ROOT = Path(__file__).parents[3]
SOURCES = (ROOT / "tests" / "corpus" / "programs", ROOT / "examples")
HOSTILE = ROOT / "tests" / "fuzz" / "hostile"
RUN_SECONDS = 10
"""What each emulated run may take."""

_SECONDS = 150.0  # a build, stopped at its own limit, and one run
_CODES = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Case:
    """One program to try: `name` says how it was made, so that it can be made again."""

    name: str
    text: bytes
    beside: Path


@dataclass(frozen=True, slots=True)
class Trial:
    """What one command made of a case; `problem` is empty where it behaved."""

    case: str
    command: str
    exit_code: int | None
    seconds: float
    problem: str


def mutated(sources: Sequence[Path], count: int, seed: int) -> Iterator[Case]:
    """Make `count` spoiled programs from those in the folders `sources`."""
    files = sorted({file for folder in sources for file in folder.rglob("*.cu")})
    if not files:
        raise FileNotFoundError(f"no .cu file in {', '.join(map(str, sources))}")
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for number in range(count):
        file = chance.choice(files)
        text, how = mutate(file.read_bytes(), seed * 1_000_003 + number)
        yield Case(f"{file.name}:{seed}:{number}:{how}", text, file.parent)


def hostile(folder: Path = HOSTILE) -> Iterator[Case]:
    """Return the programs that were written to do harm."""
    for file in sorted(folder.glob("*.cu")):
        yield Case(file.name, file.read_bytes(), folder)


def try_case(case: Case, *, analyze_only: bool = False) -> tuple[Trial, ...]:
    """Run the commands on one program, in a folder of its own that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="warploom-fuzz-") as folder:
        program = Path(folder) / "program.cu"
        program.write_bytes(case.text)
        include = ["-I", str(case.beside)]
        trials = [_try(case, "analyze", [str(program), *include])]
        if not analyze_only:
            limit = ["--timeout", str(RUN_SECONDS), "--effort", "quick", "--ranks", "2"]
            trials.append(_try(case, "check", [str(program), *include, *limit]))
    return tuple(trials)


def _try(case: Case, command: str, arguments: list[str]) -> Trial:
    result = run_process(
        [sys.executable, "-m", "warploom.cli", command, *arguments, "--json"],
        limits=Limits(seconds=_SECONDS, memory_mb=12_288, output_mb=64),
        environment=_environment(),
    )
    return Trial(case.name, command, result.exit_code, result.seconds, _problem(result))


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k.startswith(("WARPLOOM_", "PYTHON"))}
    return {**default_environment(), **kept}


def _problem(result: ProcessResult) -> str:
    if result.stopped is not None:
        return f"had to be stopped: {result.stopped} after {result.seconds:.0f} s"
    if result.signal is not None:
        return f"died of signal {result.signal}"
    if b"Traceback" in result.stderr or b"Internal error" in result.stderr:
        return "traceback: " + result.stderr.decode(errors="replace").strip()[-400:]
    if result.exit_code not in _CODES:
        return f"exit code {result.exit_code}"
    try:
        json.loads(result.stdout)
    except ValueError:
        return f"no JSON: {result.stdout[:200]!r}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz test from the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.fuzz")
    parser.add_argument("folders", nargs="*", type=Path, help="where programs to spoil are")
    parser.add_argument("--count", type=int, default=1000, help="spoiled programs [1000]")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other programs [0]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once [cores]")
    parser.add_argument("--analyze-only", action="store_true", help="build and run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    trials: list[Trial] = []
    cases = [*hostile(), *mutated(options.folders or SOURCES, options.count, options.seed)]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(partial(try_case, analyze_only=options.analyze_only), cases)
        for number, made in enumerate(outcomes, 1):
            trials += made
            for trial in made:
                if trial.problem:
                    sys.stderr.write(f"BAD {trial.command} {trial.case}: {trial.problem}\n")
            if sys.stderr.isatty() or number % 100 == 0:
                sys.stderr.write(f"\r{number} of {len(cases)} programs ")
                sys.stderr.flush()
    _tell(trials, len(cases), as_json=options.json)
    return 1 if any(trial.problem for trial in trials) else 0


def _tell(trials: Sequence[Trial], cases: int, *, as_json: bool) -> None:
    bad = [trial for trial in trials if trial.problem]
    codes = {code: sum(t.exit_code == code for t in trials) for code in _CODES}
    if as_json:
        document = {
            "programs": cases,
            "commands": len(trials),
            "bad": [{"case": t.case, "command": t.command, "problem": t.problem} for t in bad],
            "exit_codes": {str(code): number for code, number in codes.items()},
            "longest_seconds": max((t.seconds for t in trials), default=0.0),
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    ends = ", ".join(f"{number} x {code}" for code, number in codes.items())
    longest = max((t.seconds for t in trials), default=0.0)
    sys.stdout.write(
        f"{cases} programs, {len(trials)} commands, {len(bad)} bad; exit codes {ends}; "
        f"longest {longest:.1f} s\n"
    )


if __name__ == "__main__":
    sys.exit(main())
