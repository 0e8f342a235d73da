"""Whether reads that a GPU may answer with an older value matter.

Volatile and relaxed accesses never race, and the emulator runs them in order. The runtime says
where a thread has seen a later write of another thread, and then reads a place that this thread
wrote before, with nothing that orders the two: the memory model allows the value from before. A run
in which these reads get it shows whether the program can do with that. Many can: statistics, hints
that a compare-and-swap checks, loops that look again.
"""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from pathlib import Path

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, StaleRead, run
from warploom.evaluation.runs.emulated import ended
from warploom.evaluation.runs.fresh_memory import same_data

_MOST_REPEATED = 3  # outcomes whose places were all tried before, where nobody knows what is wrong
_MOST_PLACES = 8  # that are told apart where nobody knows what is wrong: each takes a run
_SCHEDULES = 5  # that show what depends on chance, the outcome's own among them
_SECONDS, _SLOWER = 10.0, 10.0  # a run that takes longer, and as often the outcome's, is given up

Place = tuple[str | None, int | None, str | None]
Wrong = Callable[[EmulatorRun], bool]


def judge_stale_reads(
    program: EmulatorBuild,
    outcomes: Sequence[EmulatorRun],
    wrong: Wrong | None = None,
) -> list[EmulatorRun]:
    """Return `outcomes` with an error for each of their `stale_reads` on which they depend.

    A read is blamed where a run in which it gives an older value fails, hangs, shows an error that
    no other schedule shows, or is `wrong`; or where it lacks something of what all schedules
    return alike. What differs from schedule to schedule proves nothing. With `wrong` each outcome
    is tried: a place may matter for one seed only, and many that do not may stand before it.

    Args:
        program: what was run.
        outcomes: its runs.
        wrong: whether a run with the arguments of an outcome returned what it must not; None:
            nobody knows.
    """
    blamed: set[Place] = set()
    tried: dict[tuple[str, ...], set[Place]] = {}
    repeated = 0
    for outcome in outcomes:
        reads = [read for read in outcome.stale_reads if _place(read) not in blamed]
        if not reads or outcome.state != "finished":
            continue
        spared = tried.setdefault(tuple(outcome.options.args), set())
        places = {_place(read) for read in reads}
        repeated += places <= spared
        if wrong is None and places <= spared and repeated > _MOST_REPEATED:
            continue
        blamed |= _Trial(program, outcome, outcomes, wrong).blamed(reads, spared)
        spared |= places
    return [_with_verdicts(outcome, blamed) for outcome in outcomes]


def _place(read: StaleRead) -> Place:
    return read.finding.file, read.finding.line, read.finding.kernel


class _Trial:
    """Repeats one outcome with older values and compares."""

    def __init__(
        self,
        program: EmulatorBuild,
        outcome: EmulatorRun,
        outcomes: Sequence[EmulatorRun],
        wrong: Wrong | None,
    ) -> None:
        self._program, self._wrong = program, wrong
        self._options = replace(outcome.options, trace=0)
        known = {o.options.run: o for o in outcomes if self._is_alike(o)}
        self._known = {**known, outcome.options.run: outcome}
        self._outcome = outcome
        self._base: list[EmulatorRun] = []

    def _is_alike(self, other: EmulatorRun) -> bool:
        """Whether `other` differs in its schedule alone."""
        return ended(other) and self._options == replace(
            other.options, trace=0, run=self._options.run
        )

    def blamed(self, reads: Sequence[StaleRead], spared: Set[Place]) -> set[Place]:
        """Return the places of `reads` that matter; those in `spared` are not tried alone."""
        sites: dict[Place, list[int]] = {}
        for read in reads:
            sites.setdefault(_place(read), []).append(read.site)
        every = [site for group in sites.values() for site in group]
        # Older values all together may fit each other, and so may those of one place.
        together = self._differs(every) or self._differs(every, stale_every=2)
        if len(sites) == 1 or (len(sites) > _MOST_PLACES and self._wrong is None):
            return set(sites) if together else set()
        tried = sites if together else {p: group for p, group in sites.items() if p not in spared}
        alone = {place for place, group in tried.items() if self._differs(group)}
        # Together they may do what none does alone.
        return alone or (set(sites) if together else set())

    def _differs(self, sites: Sequence[int], stale_every: int = 1) -> bool:
        """Whether the program returns something else where `sites` give an older value."""
        options = replace(self._options, stale_sites=tuple(sites), stale_every=stale_every)
        changed = self._run(options)
        if not ended(changed):
            # Nobody knows what it would have returned; where that counts, it has failed.
            return self._wrong is not None and changed.state != "cancelled"
        if changed.state == "finished" and self._same_as_outcome(changed):
            return False
        base = self._schedules()
        if _fails(changed) and not any(map(_fails, base)):
            return True
        wrong = self._wrong
        if wrong is not None and wrong(changed) and not wrong(self._outcome):
            return True
        if _errors(changed) - set[object]().union(*map(_errors, base)):
            return True
        if _lacks_data(changed, base):
            return True
        if not _lacks_lines(changed, base):
            return False
        # A time that is printed may be the same by chance: both runs once more.
        base.append(self._run(self._options))
        return _lacks_lines(changed, base) and _lacks_lines(self._run(options), base)

    def _run(self, options: RunOptions) -> EmulatorRun:
        limits = options.limits
        seconds = min(limits.seconds, _SECONDS + _SLOWER * self._outcome.seconds)
        return run(self._program, replace(options, limits=replace(limits, seconds=seconds)))

    def _same_as_outcome(self, changed: EmulatorRun) -> bool:
        return (
            not _fails(changed)
            and _errors(changed) == _errors(self._outcome)
            and not _lacks_lines(changed, [self._outcome])
            and not _lacks_data(changed, [self._outcome])
        )

    def _schedules(self) -> list[EmulatorRun]:
        """Return runs that differ in their schedules and came to an end, the outcome first."""
        if not self._base:
            own = self._options.run
            others = [RunSpec(own.seed, timing) for timing in (Timing.LAZY, Timing.EAGER)]
            others += [RunSpec(seed, Timing.RANDOM) for seed in range(_SCHEDULES)]
            specs = [own, *(spec for spec in others if spec != own)][:_SCHEDULES]
            runs = [
                self._known.get(spec) or self._run(replace(self._options, run=spec))
                for spec in specs
            ]
            self._base = [outcome for outcome in runs if ended(outcome)]
        return self._base


def _fails(outcome: EmulatorRun) -> bool:
    return outcome.state != "finished" or any(outcome.exit_codes.values())


def _errors(outcome: EmulatorRun) -> set[object]:
    return {
        (found.kind, found.file, found.line, found.kernel)
        for found in outcome.findings
        if found.severity is Severity.ERROR
    }


def _lines(outcome: EmulatorRun) -> Counter[str]:
    return Counter([*outcome.stdout.splitlines(), *outcome.stderr.splitlines()])


def _lacks_lines(changed: EmulatorRun, base: Sequence[EmulatorRun]) -> bool:
    """Whether `changed` does not print what all of `base` print, or prints more where they agree.

    Ranks may print in any order.
    """
    printed = [_lines(outcome) for outcome in base]
    steady = printed[0]
    for other in printed[1:]:
        steady = steady & other
    lines = _lines(changed)
    return not steady <= lines or (all(other == steady for other in printed) and lines != steady)


def _lacks_data(changed: EmulatorRun, base: Sequence[EmulatorRun]) -> bool:
    """Whether `changed` reads back other bytes where all of `base` read back the same."""
    runs = [{(item.rank, item.seq): item for item in o.readbacks} for o in (changed, *base)]
    words = [o.options.fresh_word for o in (changed, *base)]
    if any(other.keys() != runs[1].keys() for other in runs[1:]):
        return False
    if runs[0].keys() != runs[1].keys():
        return True

    def same(key: tuple[int, int], a: int, b: int) -> bool:
        return same_data(runs[a][key], runs[b][key], words[a], words[b])

    return any(
        not same(key, 0, 1) and all(same(key, 1, other) for other in range(2, len(runs)))
        for key in runs[1]
    )


def _told(read: StaleRead) -> Finding:
    later = ""
    if read.later:
        own = read.later.file == read.finding.file
        name = "line " if own else f"{Path(read.later.file).name}:"
        later = f" ({name}{read.later.line})"
    return replace(
        read.finding,
        severity=Severity.ERROR,
        message=f"{read.finding.message}{later}; what the program returns depends on it",
    )


def _with_verdicts(outcome: EmulatorRun, blamed: set[Place]) -> EmulatorRun:
    told = [_told(read) for read in outcome.stale_reads if _place(read) in blamed]
    return replace(outcome, findings=(*told, *outcome.findings), stale_reads=())
