"""Whether results that are moved before they are read back were there when repetitions ended.

MPI, a copy or a kernel behind the part that is timed may bring results to where the host reads
them. There they have no past (results_in_time.py). So the program runs once more, and at the end of
what is timed memory becomes, piece by piece, what it was when one of the repetitions had ended
(behavior/versions.h). The program goes on with that: what it reads back is what it would have been,
had it ended there. Where that changes nothing for the reference, it may change nothing for a
candidate. Nor may that compute behind the timed part what the reference computes in it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from warploom.emulator import EmulatorRun, Spoil, Stops
from warploom.evaluation.compare.outputs import Key
from warploom.evaluation.depends.repetitions import calls_after, moved_between
from warploom.evaluation.depends.results_in_time import SLACK, unseen
from warploom.evaluation.depends.spoiler import Masks, Spoiler

_WORKING = 0.5  # of the calls between two points, at most: fewer are no repetition
_MORE = 1.25  # times the work of the reference
_SHARE = 0.25  # of the work of a repetition: a candidate may do as much more behind what is timed
_WORK = ("accesses", "operations")


@dataclass(frozen=True, slots=True)
class _Ends:
    """Moments at which repetitions have ended (behavior/versions.h), and the point behind them."""

    moments: tuple[int, ...]
    point: int

    def option(self, *, control: bool) -> str:
        return f"{int(control)}:{2 * self.point}:" + ",".join(map(str, self.moments))


def moved_late(
    spoiler: Spoiler, outcome: EmulatorRun, expected: EmulatorRun, own: Spoil, how: Spoil
) -> str:
    """Say which results are moved to where they are read, and not computed in time; or "".

    `outcome` is the candidate's plain run, `expected` the reference's as `own` says, with what was
    there earlier. The candidate runs as `how` says.
    """
    spec = outcome.options.run
    reference = spoiler.reference.stats[spec.seed]
    ends = _ends(reference, own.stops, expected.stats)
    keys = unseen(spoiler, expected, own.stops) if ends else frozenset[Key]()
    if not ends or not keys:
        return ""
    own = replace(own, only_counts=how.only_counts)
    [theirs] = spoiler.run_reference([spec], _nothing(spoiler), _back(own, ends, control=False))
    base = spoiler.reference.samples[spec.seed]
    marks = spoiler.changed(base, theirs, spoiler.reference.facts)
    steady = {key for key in keys if key in marks and not marks[key].any()}
    if theirs.state != "finished" or not theirs.stats.get("taken_back") or not steady:
        return ""
    [mine] = spoiler.run(
        spoiler.candidate, [spec], _nothing(spoiler), _back(how, ends, control=True)
    )
    repetitions = len(ends.moments) + 1 if own.stops else len(ends.moments)
    if more := _works_behind(theirs.stats, mine.stats, ends.point, repetitions):
        return more
    own_samples = spoiler.samples(outcome, spoiler.candidate.facts)
    return _late(mine, spoiler.changed(own_samples, mine, spoiler.candidate.facts), steady, ends)


def _nothing(spoiler: Spoiler) -> list[str]:
    return [f"{spoiler.layout()}:none"]


def _back(how: Spoil, ends: _Ends, *, control: bool) -> Spoil:
    return replace(how, take_back=ends.option(control=control))


def _ends(
    stats: Mapping[str, float], stops: Stops | None, settled: Mapping[str, float]
) -> _Ends | None:
    """Return when repetitions end; None where what is timed has no end, or one alone.

    A stop is where the next one begins. Points are such moments if about as many calls were queued
    since the point before as between any two others, or about as much data moved between ranks.
    Of who takes the time while data is on its way, only `settled` tells that, the counters of a run
    that waits at its points. They alone count if they tell of repetitions behind the last point
    that was found, and calls of none: most calls are those of the set-up then.
    """
    last = int(stats.get("records", 0))
    if stops is not None:
        moments = tuple(2 * stop + 1 for stop in range(1, stops.parts))
        return _Ends(moments, stops.point + 1) if moments and stops.point < last else None
    calls = {point: sum(calls_after(stats, point).values()) for point in range(1, last)}
    calling, moving = _much(calls), _much(_moved_after(settled, calls))
    ending = calling | _much(_moved_after(stats, calls))
    if len(calling) < 2 <= len(moving) and max(moving) > max(ending, default=0):
        ending = moving
    *before, end = [point + 1 for point in sorted(ending)] or [0]
    return _Ends(tuple(2 * point for point in before), end) if before else None


def _moved_after(stats: Mapping[str, float], points: Iterable[int]) -> dict[int, float]:
    """Return how much data moves between each point and the next one; 0 where it is unknown."""
    return {point: moved_between(stats, point - 1, point) or 0 for point in points}


def _much(amounts: Mapping[int, float]) -> set[int]:
    """Return the points with more than a part of the most."""
    most = max(amounts.values(), default=0)
    return {point for point, amount in amounts.items() if amount > _WORKING * most}


def _late(mine: EmulatorRun, marks: Masks, steady: Iterable[Key], ends: _Ends) -> str:
    """Say what a candidate reads back otherwise where memory was taken back."""
    where = f"what is timed (point {ends.point})"
    if mine.state == "finished" and not mine.stats.get("taken_back"):
        return f"something is on its way at the end of {where}, so that its results are not known"
    for key in sorted(steady, key=str):
        mask = marks.get(key)
        late = int(mask.sum()) if mask is not None else 0
        if mask is not None and late > SLACK * mask.size:
            return (
                f"{late} of {mask.size} elements of rank {key.rank}'s {key.buffer or 'output'} are "
                f"moved to where they are read behind {where}, and not there yet when "
                "repetitions end, as the reference's are: each must leave its results"
            )
    if mine.state == "finished":
        return ""
    return (
        f"the end of the run ({mine.state}) depends on what only the last repetition leaves for "
        f"what comes behind {where}, and the reference's does not"
    )


def _works_behind(
    wanted: Mapping[str, float], got: Mapping[str, float], point: int, repetitions: int
) -> str:
    """Say whether a candidate does work behind a point that the reference does before it."""
    for name in _WORK:
        at = f"{name}_at_{point - 1}"
        if at not in wanted or at not in got:
            continue
        theirs, mine = (_total(stats, name) - stats[at] for stats in (wanted, got))
        within = wanted[at] - wanted.get(f"{name}_at_0", 0)
        if mine > _MORE * theirs + _SHARE * within / repetitions:
            return (
                f"{mine:.0f} {name} come behind point {point}, where what is timed ends, and "
                f"{theirs:.0f} in the reference: each repetition must leave its results"
            )
    return ""


def _total(stats: Mapping[str, float], name: str) -> float:
    return stats.get(name, 0) - (stats.get("looks", 0) if name == "accesses" else 0)
