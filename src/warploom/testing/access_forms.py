"""Does every way in which C++ touches memory have a hook? Races planted in each, and their twins.

    python -m warploom.testing.access_forms [--sizes N,N...] [--compiler CXX ...] [--only FORM]
                                            [--where device|host|both] [--json]

One program holds many forms: each is a kernel (or host function) of its own that races with a plain
access, and one that does not. One run tells them apart by the names in its findings. Exit code 0:
every race was found, with every compiler, and no twin was accused.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.core.records import BuildSpec, Finding, Json, Limits, RunSpec, Timing, to_json
from warploom.emulator import RunOptions, build, run
from warploom.testing.access_program import form_program, layouts, scalar_program
from warploom.testing.access_table import FORMS, SCALARS

SIZES = (1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 264)
"""Bytes of the objects that are read and written."""
PLACES = ("device", "host")

_CASE = re.compile(r"\b([rtwv])_(\w+)")
_RACES = frozenset({"data_race", "shared_memory_race"})
_LIMITS = Limits(seconds=300.0, memory_mb=12_288, output_mb=64)


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the test: what its objects are, where they are touched, and its cases."""

    name: str
    place: str
    text: str
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """What one program showed: `missed` races and `alarms` in twins, by the names of cases.

    `problem` says why it did not run to its end, "" where it did.
    """

    compiler: str
    program: str
    place: str
    cases: int
    missed: tuple[str, ...]
    alarms: tuple[str, ...]
    seconds: float
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether every race was found and nothing else."""
        return not (self.missed or self.alarms or self.problem)

    def to_json(self) -> Json:
        """Return plain JSON values."""
        return to_json(self)


def programs(sizes: Sequence[int], places: Sequence[str], only: str = "") -> Iterator[Program]:
    """Yield the programs for objects of these sizes; `only` is part of the names of forms."""
    forms = [form for form in FORMS if only in form.name]
    scalars = [item for item in SCALARS if only in item.name]
    for place in places:
        host = place == "host"
        for layout in layouts(sizes) if forms else ():
            text, cases = form_program(layout, forms, host=host)
            yield Program(layout.name, place, text, cases)
        if scalars:
            text, cases = scalar_program(scalars, host=host)
            yield Program("scalars", place, text, cases)


def try_program(program: Program, compiler: str) -> Tried:
    """Build and run one program with the compiler that `WARPLOOM_CXX` names."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="warploom-access-") as folder:
        file = Path(folder) / f"access_{program.place}_{program.name}.cu"
        file.write_text(program.text)
        try:
            built = build(BuildSpec(program=file))
            outcome = run(
                built,
                RunOptions(
                    RunSpec(0, Timing.LAZY), ranks=1, limits=_LIMITS, max_findings=1_000_000,
                    readbacks=False,
                ),
            )  # fmt: skip
        except WarploomError as error:
            return _told(program, compiler, (), started, str(error)[:400])
    ended = outcome.state == "finished"
    problem = "" if ended else f"the run ended as {outcome.state}: {_first(outcome.findings)}"
    return _told(program, compiler, outcome.findings, started, problem)


def _first(findings: Sequence[Finding]) -> str:
    return findings[0].message if findings else "no finding"


def _told(
    program: Program, compiler: str, findings: Sequence[Finding], started: float, problem: str
) -> Tried:
    raced: set[str] = set()
    accused: set[str] = set()
    for finding in findings:
        for letter, name in _CASE.findall(_words(finding)):
            if letter in "tv":
                accused.add(name)
            elif finding.kind in _RACES:
                raced.add(name)
    known = set(program.cases)
    return Tried(
        compiler=compiler,
        program=program.name,
        place=program.place,
        cases=len(program.cases),
        missed=tuple(name for name in program.cases if name not in raced) if not problem else (),
        alarms=tuple(sorted(accused & known)),
        seconds=time.monotonic() - started,
        problem=problem,
    )


def _words(finding: Finding) -> str:
    other = finding.other.function if finding.other is not None else ""
    return f"{finding.kernel or ''} {finding.message} {other or ''}"


def _table(tried: Sequence[Tried]) -> str:
    lines = [f"{'compiler':12} {'objects':9} {'where':7} {'cases':>6} {'found':>6} {'missed':>7} alarms"]
    for item in tried:
        found = 0 if item.problem else item.cases - len(item.missed)
        lines.append(
            f"{item.compiler:12} {item.program:9} {item.place:7} {item.cases:6} {found:6} "
            f"{len(item.missed):7} {len(item.alarms)}"
        )
        lines += [f"    not run: {item.problem}"] if item.problem else []
        lines += [f"    missed: {', '.join(item.missed)}"] if item.missed else []
        lines += [f"    false alarm: {', '.join(item.alarms)}"] if item.alarms else []
    cases = sum(item.cases for item in tried)
    missed = sum(len(item.missed) for item in tried)
    unbuilt = sum(item.cases for item in tried if item.problem)
    alarms = sum(len(item.alarms) for item in tried)
    lines.append(
        f"{len(FORMS) + 2 * len(SCALARS)} forms, {cases} planted races: {cases - missed - unbuilt} "
        f"found, {missed} missed, {unbuilt} not run; {alarms} false alarms in as many twins"
    )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the test from the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.access_forms")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes of the objects")
    parser.add_argument("--compiler", action="append", default=[], help="g++-12, clang++-16, ...")
    parser.add_argument("--only", default="", help="forms whose name holds this text")
    parser.add_argument("--where", choices=(*PLACES, "both"), default="both")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    sizes = [int(word) for word in options.sizes.split(",") if word]
    places = PLACES if options.where == "both" else (options.where,)
    tried: list[Tried] = []
    for compiler in options.compiler or [os.environ.get("WARPLOOM_CXX", "")]:
        if compiler:
            os.environ["WARPLOOM_CXX"] = compiler
        for program in programs(sizes, places, options.only):
            tried.append(try_program(program, compiler or "default"))
            state = "ok" if tried[-1].good else "BAD"
            sys.stderr.write(f"{state} {compiler} {program.place} {program.name}\n")
    if options.json:
        sys.stdout.write(json.dumps([item.to_json() for item in tried], indent=2) + "\n")
    else:
        sys.stdout.write(_table(tried))
    return 0 if tried and all(item.good for item in tried) else 1


if __name__ == "__main__":
    sys.exit(main())
