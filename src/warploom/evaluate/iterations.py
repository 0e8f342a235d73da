"""Whether each iteration does its work, and whether a timed run does what a verified one does.

A program that times itself records events. After each of them a candidate must move data as the
reference does: what a warm-up has computed must not be used again. And at such a moment, when
nothing is on its way, the numbers in device memory that were written since the first communication
are altered (runtime/iterations.h): where the reference's outputs stay as they are, a candidate
whose outputs change has kept results.

A result may be kept in a form that is no number. So what memory carries over such a moment is
counted too, whatever it looks like (runtime/carried.h): the bytes that are read, and were written
between the first communication and that moment. The reference's own figure says how much a program
may carry, with some room for counters and flags. Who carries more runs again while that is altered
when it is read: what was carried for nothing, such as old padding, does not matter. A program that
finds out and works anew shows by its work. Of what never
changes from then on, much less may be carried: counters do change, and kept results do not.

Most programs record two events around many iterations. Where the calls that the reference queues
between two records repeat, the same is done at the start of each repetition.
"""

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun
from warploom.evaluate.spoiler import How, Spoiler

WORK, TIMED = "work_differs", "timed_run_differs"
_LEAST = 0.75  # of what the reference moves after a record
_SETUP = 0.05  # of all that it moves: a candidate may move as much more in its set-up
_SMALL = 0.05  # of all that it moves: less than that says nothing
_MORE = 1.25  # times what the reference carries over
# Bytes of each rank that a candidate may carry over besides: of counters and flags at least and at
# most, and as a share of the rank's outputs in between.
_STATE, _MOST_STATE, _STATE_SHARE = 1 << 10, 64 << 10, 1 / 8
_CONSTANTS = 128  # bytes of these that never change: results, where state does
_SAME_WORK = 0.02  # of its accesses, kernels and bytes
_TRIED = (0, 1)  # records that memory is altered at: all but the last, or the first

_COUNTED = ("kernels", "threads", "puts", "host_calls", "staged_bytes", "moved")


def work_findings(
    outcomes: Mapping[RunSpec, EmulatorRun], reference: Mapping[int, Mapping[str, float]]
) -> Iterator[Finding]:
    """Compare how much data moves after each record of an event with what the reference moves then.

    A candidate that moves less in all, for it sends no padding, may move as much less there. One
    that moves more, as in its set-up, may not move less there.
    """
    for spec, run in outcomes.items():
        stats = reference[spec.seed]
        total = stats.get("moved", 0)
        moved = run.stats.get("moved", 0)
        scale = min(1.0, max(0.0, moved / total - _SETUP)) if total else 0.0
        pairs = zip(_moved_later(stats), _moved_later(run.stats), strict=False)
        for number, (want, got) in enumerate(pairs, 1):
            if want is None or got is None or want < _SMALL * total or got >= _LEAST * scale * want:
                continue
            yield Finding(
                WORK,
                Severity.ERROR,
                f"{got:.0f} bytes move between ranks after record {number} of an event, and "
                f"{want:.0f} in the reference",
                "each iteration must communicate and compute anew",
                seed=spec.seed,
                timing=spec.timing,
            )
            break
        else:
            continue
        return  # the other runs say the same


def _moved_later(stats: Mapping[str, float]) -> list[float | None]:
    """Return for each record how many bytes move after it; None if something was on its way."""
    records = range(int(stats.get("records", 0)))
    return [
        stats.get("moved", 0) - stats.get(f"moved_at_{at}", 0)
        if stats.get(f"idle_at_{at}", 0)
        else None
        for at in records
    ]


def kept_findings(
    spoiler: Spoiler, outcomes: Mapping[RunSpec, EmulatorRun], seed: int
) -> Iterator[Finding]:
    """Alter memory between iterations: what is computed anew does not depend on it.

    That is where both programs record events, and where the work between two records starts again.
    """
    records = int(spoiler.reference.stats[seed].get("records", 0))
    specs = [RunSpec(seed, timing) for timing in (Timing.EAGER, Timing.MODELLED)]
    specs = [spec for spec in specs if spec in outcomes]
    if records < 2 or not specs:
        return
    spec = secrets.choice(specs)
    at_records = [How(poison=tried or records - 1) for tried in _TRIED]
    finding = _kept_from(spoiler, outcomes[spec], spec, [(how, how) for how in at_records])
    if finding is None:
        finding = _kept_within(spoiler, outcomes[spec], spec)
    if finding is not None:
        yield finding


def _kept_from(
    spoiler: Spoiler, outcome: EmulatorRun, spec: RunSpec, hows: Sequence[tuple[How, How]]
) -> Finding | None:
    """Try one way after the other, the reference's and the candidate's, until one says something.

    That is the first that leaves the reference's outputs as they are.
    """
    what = [f"{spoiler.layout()}:none"]
    how, expected, anew = How(), None, False
    for own, theirs in hows:
        how = theirs
        [expected] = spoiler.run_reference([spec], what, own)
        if anew := _unchanged(spoiler, spec, expected):
            break
    if expected is None or not expected.stats.get("poisoned") or (how.stops and not anew):
        return None
    [run] = spoiler.run(spoiler.candidate, [spec], what, how)
    finding = _depends(spoiler, outcome, run, spec) if anew else None
    if finding is None and _carries_more(spoiler, spec.seed, run.stats, expected.stats):
        [scrambled] = spoiler.run(spoiler.candidate, [spec], what, replace(how, scramble=True))
        finding = _depends(spoiler, outcome, scrambled, spec)
        if finding is None and _works_otherwise(run.stats, scrambled.stats):
            finding = _kept("the work of the run depends", spec)
    return finding


def _kept_within(spoiler: Spoiler, outcome: EmulatorRun, spec: RunSpec) -> Finding | None:
    """Look between two records, where the reference queues the same calls again and again."""
    reference = spoiler.reference.stats[spec.seed]
    record, parts = _repeats(reference)
    for count in (n for n in range(parts, 1, -1) if parts % n == 0):
        own = _stops(reference, record, count)
        finding = None
        if _repeats_as(outcome.stats, record) % count == 0:
            theirs = _stops(outcome.stats, record, count)
            finding = _kept_from(spoiler, outcome, spec, [(How(stops=own), How(stops=theirs))])
        elif _starts_anew(spoiler, spec, own):
            calls = max(_calls(outcome.stats, record).values(), default=0)
            return Finding(
                WORK,
                Severity.ERROR,
                f"after record {record} of an event, the reference does the same {count} times "
                f"over, and the {calls} calls of the candidate do not recur so often",
                "queue the same kernels, copies and collectives for each iteration",
                seed=spec.seed,
                timing=spec.timing,
            )
        if finding is not None:
            return finding
    return None


def _starts_anew(spoiler: Spoiler, spec: RunSpec, stops: str) -> bool:
    """Whether the reference's outputs do not depend on what its memory holds at these stops."""
    what = [f"{spoiler.layout()}:none"]
    [run] = spoiler.run_reference([spec], what, How(stops=stops))
    return bool(run.stats.get("poisoned")) and _unchanged(spoiler, spec, run)


def _calls(stats: Mapping[str, float], record: int) -> dict[int, int]:
    """Return how many calls each process queues between this record and the next."""
    head = f"calls_after_{record}_of_"
    return {int(k.removeprefix(head)): int(v) for k, v in stats.items() if k.startswith(head)}


def _repeats_as(stats: Mapping[str, float], record: int) -> int:
    """Return how often all processes repeat the same calls after this record; at least once."""
    head = f"repeats_after_{record}_of_"
    return math.gcd(*(int(v) for k, v in stats.items() if k.startswith(head))) or 1


def _repeats(stats: Mapping[str, float]) -> tuple[int, int]:
    """Return the record that most calls follow, and how often they repeat."""
    records = range(1, int(stats.get("records", 0)) + 1)
    record = max(records, key=lambda one: sum(_calls(stats, one).values()))
    return record, _repeats_as(stats, record)


def _stops(stats: Mapping[str, float], record: int, parts: int) -> str:
    calls = _calls(stats, record)
    return f"{record}:{parts}:" + ",".join(str(calls[rank] // parts) for rank in sorted(calls))


def _unchanged(spoiler: Spoiler, spec: RunSpec, run: EmulatorRun) -> bool:
    """Whether the reference's run ends, with the outputs that it has otherwise."""
    base = spoiler.reference.samples[spec.seed]
    marks = spoiler.changed(base, run, spoiler.reference.facts)
    return run.state == "finished" and not any(mask.any() for mask in marks.values())


def _carries_more(
    spoiler: Spoiler, seed: int, got: Mapping[str, float], wanted: Mapping[str, float]
) -> bool:
    """Whether memory carries more from iteration to iteration than the reference's and some state.

    State changes from one iteration to the next. The memory of one rank may hold what another one
    carries.
    """
    if not (got.get("carrying") and wanted.get("carrying")):
        return False
    constants = {name for name in got if name.startswith("constant_of_")}
    if any(got[name] > _MORE * wanted.get(name, 0) + _CONSTANTS for name in constants):
        return True
    sizes: dict[int, int] = {}
    for key, sample in spoiler.reference.samples[seed].items():
        sizes[key.rank] = sizes.get(key.rank, 0) + len(sample.data)
    owners = {name for name in (*got, *wanted) if name.startswith("carried_of_")}
    carried = [(got.get(name, 0), wanted.get(name, 0)) for name in owners]
    share = max(sizes.values(), default=0) * _STATE_SHARE
    allowed = min(_MOST_STATE, max(_STATE, share))
    return any(mine > _MORE * its + allowed for mine, its in carried)


def _depends(
    spoiler: Spoiler, outcome: EmulatorRun, run: EmulatorRun, spec: RunSpec
) -> Finding | None:
    """Say whether the outputs of `run` or its end are others than those of `outcome`."""
    own = spoiler.samples(outcome, spoiler.candidate.facts)
    marks = spoiler.changed(own, run, spoiler.candidate.facts)
    off = sum(int(mask.sum()) for mask in marks.values())
    if run.state == "finished" and not off:
        return None
    how = (
        f"{off} elements of the outputs depend"
        if off
        else f"the end of the run ({run.state}) depends"
    )
    return _kept(how, spec)


def _works_otherwise(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two runs differ in their work: who finds that what it kept is spoiled works anew."""
    return any(
        abs(one.get(name, 0) - other.get(name, 0)) > _SAME_WORK * one.get(name, 0)
        for name in ("kernels", "accesses", "moved")
    )


def _kept(how: str, spec: RunSpec) -> Finding:
    return Finding(
        WORK,
        Severity.ERROR,
        f"{how} on memory that was written before the part that the program times, and the "
        "reference's outputs do not",
        "each iteration must compute its results anew, from the program's inputs",
        seed=spec.seed,
        timing=spec.timing,
    )


def timed_findings(
    timed: Sequence[EmulatorRun], verified: Mapping[RunSpec, EmulatorRun]
) -> Iterator[Finding]:
    """Compare the counters of timed runs with those of the verified runs of the same seed.

    A counter that depends on the schedule may lie between half of the least and twice the most.
    """
    for run in timed:
        spec = run.options.run
        known = [item for at, item in verified.items() if at.seed == spec.seed]
        for name in _COUNTED if known else ():
            seen = [int(item.stats.get(name, 0)) for item in known]
            got = int(run.stats.get(name, 0))
            steady = min(seen) == max(seen)
            fits = got == seen[0] if steady else min(seen) / 2 <= got <= 2 * max(seen)
            if fits:
                continue
            expected = str(seen[0]) if steady else f"{min(seen)} to {max(seen)}"
            yield Finding(
                TIMED,
                Severity.ERROR,
                f"the timed run counts {got} {name.replace('_', ' ')}, verification {expected}: "
                "the time is not that of what was verified",
                "a program must do the same whatever its clocks say",
                seed=spec.seed,
                timing=spec.timing,
            )
            break
