"""Whether the cases show all that a candidate does: each way of its conditions, and its bounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from warploom.backends.emulated import findings_of
from warploom.core.records import Finding, Severity
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, WayTaken
from warploom.synthesis.correctness.building import WatchedCandidate
from warploom.synthesis.correctness.compare import same_values
from warploom.synthesis.correctness.frame import MOVED_FILE
from warploom.synthesis.correctness.running import (
    CaseResult,
    LaidCase,
    results_of,
    with_other_values,
    write_cases,
)
from warploom.synthesis.correctness.way_bounds import (
    bound_finding,
    bounds_by_named,
    one_sided,
    two_sided,
)
from warploom.synthesis.correctness.ways import (
    Condition,
    joined_ways,
    unshown,
    way_finding,
)
from warploom.synthesis.records import TensorArg

Bounded = tuple[Condition, str]
"""A bound of which one value never decided, and which."""
Run = Callable[[EmulatorBuild, RunOptions], EmulatorRun | None]
"""Runs a program once; None where the run was given up."""


@dataclass(frozen=True)
class Shown:
    """What a candidate did in the run whose results were right; `inputs` are the task's."""

    inputs: Sequence[TensorArg]
    options: RunOptions
    laid: Sequence[LaidCase]
    results: Sequence[CaseResult]

    @property
    def folder(self) -> Path:
        """Where the cases of that run lie; those of further runs lie beside it."""
        if self.options.folder is None:
            raise ValueError("the cases must lie in a folder, but there is none")
        return self.options.folder


def unshown_findings(
    body: str,
    watched: WatchedCandidate,
    first: Shown,
    run: Run,
    is_right: Callable[[CaseResult], bool],
) -> list[Finding]:
    """Return what is wrong with a candidate of which something is not shown.

    That is a condition of which no case took one of the ways, not even with bounds moved that no
    case reached, and such a bound where it matters. The results of the run that tells it must be
    those that were compared; which NaN is returned is the compiler's choice.
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
    bounds = one_sided(watched.conditions, one.ways)
    by_named = bounds_by_named(one.ways, body)
    if any(bound.number in by_named for bound, _ in bounds):
        free = _of_values(watched.program, first, run, by_named)
        bounds = [(bound, side) for bound, side in bounds if bound.number not in free]
    moved = _Moved(watched.program, first, run, is_right)
    shown: list[Sequence[WayTaken]] = [one.ways]
    # What few cases reach may hang on a bound that decided in these: where a row's greatest lies.
    for more in (bounds, two_sided(watched.conditions, one.ways)):
        if ways and more:
            shown += moved.ways(more)
            ways = unshown(watched.conditions, joined_ways(shown))
    return [
        *moved.findings(bounds),
        *(way_finding(condition, words, cases) for condition, words in ways),
    ]


def _of_values(
    program: EmulatorBuild, first: Shown, run: Run, digests: Mapping[int, int]
) -> frozenset[int]:
    """Return the bounds in which something else decides where inputs have other values."""
    folder = first.folder.with_name("other-values")
    write_cases([with_other_values(laid, first.inputs) for laid in first.laid], folder)
    one = run(program, replace(first.options, race=False, folder=folder))
    if one is None:  # given up: it tells nothing, and nothing against them
        return frozenset(digests)
    others = {way.number: way.digest for way in one.ways}
    return frozenset(n for n, digest in digests.items() if others.get(n, digest) != digest)


@dataclass(frozen=True)
class _Moved:
    """Runs with bounds that no case reached, moved until they decide.

    What is done then was done nowhere else, so that races are looked for too.
    """

    program: EmulatorBuild
    first: Shown
    run: Run
    is_right: Callable[[CaseResult], bool]
    done: dict[frozenset[int], Sequence[WayTaken] | None] = field(
        default_factory=dict[frozenset[int], Sequence[WayTaken] | None]
    )

    def findings(self, bounds: Sequence[Bounded]) -> list[Finding]:
        """Return which bounds matter: all of them are moved at once, then each alone."""
        if not bounds or self._taken(bounds) is not None:
            return []
        single = [bound for bound in bounds if self._taken([bound]) is None]
        cases, alone = len(self.first.laid), bool(single)
        return [bound_finding(bound, side, cases, alone=alone) for bound, side in single or bounds]

    def ways(self, bounds: Sequence[Bounded]) -> list[Sequence[WayTaken]]:
        """Return the ways that conditions took in runs with moved bounds whose results are right.

        A condition that hangs on a bound which no case reaches may take its other way there.
        """
        together = self._taken(bounds)
        if together is not None:
            return [together]
        alone = [self._taken([bound]) for bound in bounds]
        return [ways for ways in alone if ways is not None]

    def _taken(self, bounds: Sequence[Bounded]) -> Sequence[WayTaken] | None:
        """Return the ways taken with these bounds moved; None where a result is not right."""
        key = frozenset(bound.number for bound, _ in bounds)
        if key not in self.done:
            self.done[key] = self._played(key)
        return self.done[key]

    def _played(self, numbers: frozenset[int]) -> Sequence[WayTaken] | None:
        words = " ".join(map(str, sorted(numbers)))
        (self.first.folder / MOVED_FILE).write_text(f"{words}\n", encoding="utf-8")
        one = self.run(self.program, self.first.options)
        if one is None:  # given up: it tells nothing, and nothing against them
            return ()
        errors = [found for found in findings_of(one) if found.severity is Severity.ERROR]
        results = results_of(one, self.first.laid)
        if errors or results is None or any(one.exit_codes.values()):
            return None
        return one.ways if all(map(self.is_right, results)) else None


def _are_alike(results: Sequence[CaseResult], others: Sequence[CaseResult]) -> bool:
    """Whether two runs returned the same values."""
    return len(results) == len(others) and all(
        same_values(got, wanted, expected.dtype)
        for one, other in zip(results, others, strict=True)
        for got, wanted, expected in zip(one.outputs, other.outputs, one.case.outputs, strict=True)
    )
