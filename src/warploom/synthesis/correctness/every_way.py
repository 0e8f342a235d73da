"""Whether the cases show all that a candidate does: each way of its conditions, and its bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom.backends.emulated import findings_of
from warploom.core.records import Finding, Severity
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions
from warploom.synthesis.correctness.building import WatchedCandidate
from warploom.synthesis.correctness.compare import same_values
from warploom.synthesis.correctness.frame import MOVED_FILE
from warploom.synthesis.correctness.running import CaseResult, LaidCase, results_of
from warploom.synthesis.correctness.way_bounds import bound_finding, one_sided
from warploom.synthesis.correctness.ways import Condition, unshown, way_finding

Run = Callable[[EmulatorBuild, RunOptions], EmulatorRun | None]
"""Runs a program once; None where the run was given up."""


@dataclass(frozen=True)
class Shown:
    """What a candidate did in the run whose results were right."""

    options: RunOptions
    laid: Sequence[LaidCase]
    results: Sequence[CaseResult]


def unshown_findings(
    body: str,
    watched: WatchedCandidate,
    first: Shown,
    run: Run,
    is_right: Callable[[CaseResult], bool],
) -> list[Finding]:
    """Return what is wrong with a candidate of which something is not shown.

    That is a condition of which no case took one of the ways, and a bound that no case reached
    and that matters. The results of the run that tells it must be those that were compared; which
    NaN is returned is the compiler's choice.
    """
    if watched.program is None:
        return [] if watched.refused is None else [watched.refused]
    one = run(watched.program, replace(first.options, race=False))
    if one is None:
        return []
    results = results_of(one, first.laid)
    if results is None or not _are_alike(results, first.results):
        message = "with its conditions watched, the candidate does something else"
        return [Finding("wrong_result", Severity.ERROR, message)]
    cases = len(first.laid)
    ways = unshown(watched.conditions, one.ways)
    if ways:
        return [way_finding(condition, words, cases) for condition, words in ways]
    moved = _Moved(watched.program, first, run, is_right)
    return moved.findings(one_sided(watched.conditions, one.ways, body))


@dataclass(frozen=True)
class _Moved:
    """Runs with bounds that no case reached, moved until they decide."""

    program: EmulatorBuild
    first: Shown
    run: Run
    is_right: Callable[[CaseResult], bool]

    def findings(self, bounds: Sequence[tuple[Condition, str]]) -> list[Finding]:
        """Return which bounds matter: all of them are moved at once, then each alone."""
        if not bounds or self._holds(bounds):
            return []
        single = [bound for bound in bounds if not self._holds([bound])]
        cases, alone = len(self.first.laid), bool(single)
        return [bound_finding(bound, side, cases, alone=alone) for bound, side in single or bounds]

    def _holds(self, bounds: Sequence[tuple[Condition, str]]) -> bool:
        """Whether the results are right with these bounds moved."""
        options = self.first.options
        if options.folder is None:
            raise ValueError("the cases must lie in a folder, but there is none")
        numbers = " ".join(str(bound.number) for bound, _ in bounds)
        (options.folder / MOVED_FILE).write_text(f"{numbers}\n", encoding="utf-8")
        one = self.run(self.program, replace(options, race=False))
        if one is None:
            return True
        errors = [found for found in findings_of(one) if found.severity is Severity.ERROR]
        results = results_of(one, self.first.laid)
        if errors or results is None or any(one.exit_codes.values()):
            return False
        return all(map(self.is_right, results))


def _are_alike(results: Sequence[CaseResult], others: Sequence[CaseResult]) -> bool:
    """Whether two runs returned the same values."""
    return len(results) == len(others) and all(
        same_values(got, wanted, expected.dtype)
        for one, other in zip(results, others, strict=True)
        for got, wanted, expected in zip(one.outputs, other.outputs, one.case.outputs, strict=True)
    )
