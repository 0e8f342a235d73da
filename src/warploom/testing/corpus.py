"""Runs `check` on the corpus and says what it found, missed, and accused wrongly.

    python -m warploom.testing.corpus [FOLDER] [--only TEXT] [--seeds K] [--checker CMD] [--json]

Exit 0: every defect was found with the right kind and line, and no correct program was accused.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from warploom.core.errors import WarploomError
from warploom.core.records import Json, Severity, Verdict
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.runs.plan import Effort
from warploom.testing.checkers import Checker, CommandChecker, Judgment, OwnChecker
from warploom.testing.corpus_files import Entry, read_corpus

PROGRAMS = Path(__file__).parents[3] / "tests" / "corpus" / "programs"
# What a report says of a program without accusing it.
NOTES = frozenset({"no_communication"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `check` made of one entry.

    `good`: the defect was found as expected, or the correct program was not accused. `got` are
    all findings as `kind file:line`.
    """

    entry: Entry
    good: bool
    verdict: str
    got: tuple[str, ...]
    seconds: float

    def to_json(self) -> dict[str, Json]:
        """Return the outcome as plain JSON values."""
        entry = self.entry
        return {
            "name": entry.name,
            "program": str(entry.program),
            "defect": entry.defect,
            "kinds": list(entry.kinds),
            "lines": list(entry.lines),
            "why": entry.why,
            "good": self.good,
            "verdict": self.verdict,
            "got": list(self.got),
            "seconds": self.seconds,
        }


def run_entry(entry: Entry, checker: Checker | None = None) -> Outcome:
    """Let a checker (default: our own) judge one entry, and compare with what is expected.

    Raises:
        WarploomError: the program cannot be built or run.
    """
    report = (checker or OwnChecker())(entry)
    return Outcome(
        entry=entry,
        good=is_found(entry, report) if entry.defect else is_clean(report),
        verdict=str(report.verdict),
        got=tuple(_describe(item) for item in report.findings),
        seconds=report.seconds,
    )


def run_decisive(entry: Entry) -> Outcome:
    """Judge one entry by the schedules that decide, for a test that must be quick.

    A defect has the lazy run, and all of normal effort only where that does not show it; a correct
    program has the lazy run and one random one.

    Raises:
        WarploomError: the program cannot be built or run.
    """
    seeds = None if entry.defect else 1
    outcome = run_entry(entry, OwnChecker(seeds, Effort.QUICK))
    return run_entry(entry) if entry.defect and not outcome.good else outcome


def is_clean(report: Judgment) -> bool:
    """Whether nothing at all was found, warnings included, and the program succeeded."""
    return report.verdict == Verdict.OK and all(
        item.finding.kind in NOTES for item in report.findings
    )


def is_found(entry: Entry, report: Judgment) -> bool:
    """Whether an error of an expected kind names an expected line of the program."""
    return report.verdict not in (Verdict.OK, Verdict.UNSUPPORTED) and any(
        item.finding.severity == Severity.ERROR and _matches(entry, item)
        for item in report.findings
    )


def _matches(entry: Entry, item: MergedFinding) -> bool:
    """Compare the finding's own place, not the second one that it may mention."""
    finding = item.finding
    if finding.kind not in entry.kinds or finding.file is None:
        return False
    return Path(finding.file).name == entry.program.name and finding.line in entry.lines


def _describe(item: MergedFinding) -> str:
    finding = item.finding
    place = f"{Path(finding.file).name}:{finding.line}" if finding.file else "no place"
    other = f" (other {finding.other.line})" if finding.other else ""
    return f"{finding.kind} {place}{other}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the corpus from the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.corpus")
    parser.add_argument("folder", nargs="?", type=Path, default=PROGRAMS)
    parser.add_argument("--only", default="", help="run entries whose name holds this text")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the random network")
    parser.add_argument(
        "--checker",
        metavar="CMD",
        help="judge with this command, which takes the arguments of `warploom check` and prints "
        "its JSON, instead",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    checker = CommandChecker(options.checker) if options.checker else OwnChecker(options.seeds)
    outcomes: list[Outcome] = []
    try:
        entries = [e for e in read_corpus(options.folder) if options.only in e.name]
        for entry in entries:
            outcomes.append(_outcome(entry, checker))
            if not options.json:
                _tell(outcomes[-1])
    except WarploomError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    summary = summarize(outcomes)
    if options.json:
        document = {"summary": summary, "entries": [outcome.to_json() for outcome in outcomes]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _show(outcomes, summary)
    return 0 if outcomes and all(outcome.good for outcome in outcomes) else 1


def _outcome(entry: Entry, checker: Checker) -> Outcome:
    """Like `run_entry`, but a program that cannot be run is one bad outcome, not the end."""
    try:
        return run_entry(entry, checker)
    except WarploomError as error:
        return Outcome(entry, False, "not run", (str(error).splitlines()[0],), 0.0)


def summarize(outcomes: Sequence[Outcome]) -> dict[str, Json]:
    """Count defects found and correct programs accused."""
    defects = [outcome for outcome in outcomes if outcome.entry.defect]
    correct = [outcome for outcome in outcomes if not outcome.entry.defect]
    return {
        "defects": len(defects),
        "found": sum(outcome.good for outcome in defects),
        "kinds": len({kind for outcome in defects for kind in outcome.entry.kinds}),
        "correct": len(correct),
        "programs": len({outcome.entry.program for outcome in correct}),
        "false_alarms": sum(not outcome.good for outcome in correct),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 1),
    }


def _tell(outcome: Outcome) -> None:
    mark = "ok  " if outcome.good else "BAD "
    sys.stdout.write(f"{mark} {outcome.entry.name}  {outcome.seconds:.1f} s\n")
    sys.stdout.flush()


def _show(outcomes: Sequence[Outcome], summary: dict[str, Json]) -> None:
    table = Table("entry", "expected", "verdict", "found", "", highlight=False)
    for outcome in outcomes:
        entry = outcome.entry
        lines = ",".join(str(line) for line in entry.lines)
        expected = f"{'|'.join(entry.kinds)} :{lines}" if entry.defect else "nothing"
        mark = "ok" if outcome.good else "BAD"
        table.add_row(entry.name, expected, outcome.verdict, "\n".join(outcome.got), mark)
    console = Console(file=sys.stdout, width=160)
    console.print(table, markup=False)
    sys.stdout.write(
        f"{summary['found']} of {summary['defects']} defects found ({summary['kinds']} kinds); "
        f"{summary['false_alarms']} false alarms in {summary['correct']} runs of "
        f"{summary['programs']} correct programs; {summary['seconds']} s\n"
    )


if __name__ == "__main__":
    sys.exit(main())
