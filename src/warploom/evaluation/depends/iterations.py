"""Whether each iteration does its work, and whether a timed run does what a verified one does.

A program that times itself records events, or reads clocks. After each of these points a
candidate must move data as the reference does: what a warm-up has computed must not be used
again. And at such a point, when nothing is on its way, the numbers in device memory that the
program has written are altered (behavior/iterations.h): where the reference's outputs stay as they
are, a candidate whose outputs change has kept results.

A result may be kept in a form that is no number. So what memory carries over such a point is
counted too, whatever it looks like (behavior/carried.h): the bytes that are read, and were written
before. The reference's own figure says how much a program may carry, with some room for counters
and flags. Who carries more runs again while that is altered when it is read: what was carried for
nothing, such as old padding, does not matter. A program that finds out and works anew shows by
its work. Of what never changes from then on, much less may be carried: counters do change, and
kept results do not.

And what a repetition computes must be there when it ends (results_in_time.py), also what is moved
before it is read back (moved_results.py). What is kept where no counter sees it is of the inputs
that were there: so they change between iterations (turned_inputs.py).

Most programs take the time before and after many iterations. Where the calls that the reference
queues between two points repeat, the same is done at the start of each repetition.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, Spoil, Stops
from warploom.evaluation.depends.carried_over import carries_more
from warploom.evaluation.depends.moved_results import moved_late
from warploom.evaluation.depends.repetitions import (
    calls_after,
    moves_less,
    repeats,
    repeats_as,
    stops_of,
    uneven,
)
from warploom.evaluation.depends.results_in_time import asks, late_results
from warploom.evaluation.depends.same_work import otherwise_by_seed, works_otherwise
from warploom.evaluation.depends.spoiler import Pair, Spoiler, any_marked, points_of
from warploom.evaluation.depends.turned_inputs import Kinds, outdated

WORK, TIMED = "work_differs", "timed_run_differs"
_MOST_COUNTS = 3  # ways to divide what repeats
_VERSIONS_MB = 512  # that may be kept of the reference; of a candidate, twice that
_TRIED = (0, 1)  # records that memory is altered at: all but the last, or the first

_ANEW = "each iteration must communicate and compute anew"
_IN_TIME = "compute anew in each iteration, and leave the results where they are read back"
_COUNTED = ("kernels", "threads", "puts", "host_calls", "staged_bytes", "moved")


def work_findings(
    outcomes: Mapping[RunSpec, EmulatorRun], reference: Mapping[int, Mapping[str, float]]
) -> Iterator[Finding]:
    """Compare how often a program takes the time, and how much data moves after each such point.

    A candidate that moves less in all, for it sends no padding, may move as much less there; so may
    one whose warm-up does. One that moves more, as in its set-up, may not move less there.
    """
    message = _takes_time_otherwise(
        {_moments(stats) for stats in reference.values()},
        {_moments(run.stats) for run in outcomes.values() if run.state == "finished"},
    )
    if message:
        spec = next(iter(outcomes))
        yield _finding(
            message, "keep the events and clocks by which the program times itself", spec
        )
        return
    message = otherwise_by_seed(outcomes, reference)
    if message:
        yield _finding(message, _ANEW, next(iter(outcomes)))
        return
    for spec, run in outcomes.items():
        message = moves_less(reference[spec.seed], run.stats)
        if message:
            yield _finding(message, _ANEW, spec)
            return  # the other runs say the same


def _finding(message: str, hint: str, spec: RunSpec) -> Finding:
    return Finding(WORK, Severity.ERROR, message, hint, seed=spec.seed, timing=spec.timing)


def _moments(stats: Mapping[str, float]) -> tuple[int, ...]:
    """Return at how many moments each process takes the time, by rank."""
    points = points_of(stats)
    return tuple(len(points[rank]) for rank in sorted(points))


def _takes_time_otherwise(wanted: set[tuple[int, ...]], counts: set[tuple[int, ...]]) -> str:
    """Say which process takes the time more or less often than the reference's; "" if none does.

    Where one process does, they cannot meet at these moments, and nothing is compared there.
    """
    if len(wanted) != 1 or counts <= wanted:
        return ""
    [theirs] = wanted
    mine = max(counts - wanted)  # of one run: a candidate that varies is not let off
    if max(theirs, default=0) < 2 or len(theirs) != len(mine):
        return ""
    rank, want, have = next(
        (rank, want, have)
        for rank, (want, have) in enumerate(zip(theirs, mine, strict=True))
        if want != have
    )
    return (
        f"rank {rank} takes the time at {have} moments, and the reference's at {want}: "
        "what is timed cannot be compared"
    )


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
    # The clock that is scored each time, the other one by chance.
    specs = specs[-1:] + [spec for spec in specs[:-1] if secrets.randbelow(2)]
    at_points = [
        Spoil(poison=tried or records - 1, strict=strict, versions=_VERSIONS_MB)
        for strict in (True, False)
        for tried in _TRIED
    ]
    for spec in specs:
        finding, steady = _kept_from(spoiler, outcomes[spec], spec, at_points)
        if finding is None:
            finding = _kept_within(spoiler, outcomes[spec], spec, steady=steady)
        if finding is not None:
            yield finding
            return


def _run_reference(
    spoiler: Spoiler, spec: RunSpec, hows: Sequence[Spoil]
) -> tuple[Spoil, EmulatorRun, bool]:
    """Run the reference in one way after the other, until its outputs stay as they are.

    Returns:
        The way that was tried last, its run, and whether the outputs stayed.
    """
    for number, how in enumerate(hows, 1):
        [run] = spoiler.run_reference([spec], _what(spoiler), how)
        anew = _unchanged(spoiler, spec, run)
        if anew or number == len(hows):
            return how, run, anew
    raise ValueError("there must be a way to run the reference")


def _what(spoiler: Spoiler) -> list[str]:
    """Return what is altered of what moves between ranks: nothing."""
    return [f"{spoiler.layout()}:none"]


def _kept_from(
    spoiler: Spoiler,
    outcome: EmulatorRun,
    spec: RunSpec,
    hows: Sequence[Spoil],
    stops: Stops | None = None,
    *,
    steady: bool = False,
) -> tuple[Finding | None, bool]:
    """Alter the candidate's memory where that leaves the reference's outputs as they are.

    `stops` are the candidate's, where those of `hows` are the reference's. `steady`: the reference
    depends on nothing that was computed before the point that comes before these. The same is
    returned for what `hows` name.
    """
    own, expected, anew = _run_reference(spoiler, spec, hows)
    if not expected.stats.get("poisoned") or (stops and not anew):
        return _late(spoiler, outcome, own, expected, stops), False
    how = replace(own, stops=stops, versions=2 * own.versions)
    [run] = spoiler.run(spoiler.candidate, [spec], _what(spoiler), how)
    finding = _depends(spoiler, outcome, run, spec) if anew else None
    if finding is None and (unseen := not_looked_at(expected.stats, run)):
        finding = _finding(unseen, "use less memory, and wait for what was queued", spec)
    if finding is None and (late := late_results(spoiler, expected, run, own.stops)):
        finding = _finding(late, _IN_TIME, spec)
    if finding is None:
        unaltered = own.only_counts or not anew
        finding = _moved(spoiler, outcome, expected, own, replace(how, only_counts=unaltered))
    less = moves_less(expected.stats, run.stats) or uneven(expected.stats, run.stats, stops)
    if finding is None and less and anew:
        finding = _finding(less, _ANEW, spec)
    if finding is None and anew and works_otherwise(outcome.stats, run.stats):
        finding = _works_by_what_it_finds(spoiler, outcome, (run, how), (expected, own))
    if finding is None and carries_more(spoiler, spec.seed, run.stats, expected.stats):
        scrambles = replace(how, scramble=True, versions=0)
        [scrambled] = spoiler.run(spoiler.candidate, [spec], _what(spoiler), scrambles)
        finding = _depends(spoiler, outcome, scrambled, spec)
        if finding is None and works_otherwise(run.stats, scrambled.stats):
            finding = _kept("the work of the run depends", spec)
    # Where work repeats between two points, that is looked at there, and takes in what is earlier.
    whole = stops is not None or repeats(spoiler.reference.stats[spec.seed])[1] < 2
    if finding is None and anew and own.strict and whole:
        message = outdated(spoiler, Kinds(spec, (own, expected), (how, run), steady=steady))
        finding = _finding(message, _ANEW, spec) if message else None
    return finding, anew and own.strict


def not_looked_at(wanted: Mapping[str, float], run: EmulatorRun) -> str:
    """Say why a candidate's memory was not looked at where the reference's was; "" if it was.

    Nothing is looked at where no rank has sent anything yet, and a candidate may begin to later
    than the reference. It may also read clocks a few times less often, as who polls does.
    """
    got = run.stats
    want = min(wanted.get("poisoned", 0), got.get("at_points", 0))
    have = got.get("poisoned", 0) + got.get("early", 0)
    carries = wanted.get("carrying", 0) and not got.get("carrying", 0)
    if got.get("unkept") and not wanted.get("unkept"):
        return "it has written more device memory than can be kept between iterations"
    if run.state != "finished" or (have >= want and not carries):
        return ""
    why = (
        "it has written more device memory than can be kept"
        if got.get("too_much")
        else "something was on its way, or nothing was sent between ranks"
    )
    return (
        f"memory is altered at {have:.0f} of {want:.0f} points at which the reference's is, and "
        f"what it carries over is {'not ' if carries else ''}counted: {why}"
    )


def _works_by_what_it_finds(
    spoiler: Spoiler,
    outcome: EmulatorRun,
    altered: tuple[EmulatorRun, Spoil],
    expected: tuple[EmulatorRun, Spoil],
) -> Finding | None:
    """Look why a candidate's work is another in an altered run, where the reference's is the same.

    Who keeps results beside a fingerprint of their inputs works anew where that is altered. Who
    asks whether earlier work has ended may work anew where the run waits for it.
    """
    spec = outcome.options.run
    untouched = _only_counted(spoiler, spoiler.candidate, spec, altered[1])
    if untouched.state != "finished":
        return None
    reference = _only_counted(spoiler, spoiler.trusted, spec, expected[1])
    if works_otherwise(untouched.stats, altered[0].stats):
        same = not works_otherwise(reference.stats, expected[0].stats)
        return _kept("the work of the run depends", spec) if same else None
    if works_otherwise(reference.stats, spoiler.reference.stats[spec.seed]):
        return None
    return _finding(
        "the work of the run is another where all ranks wait between iterations, and the "
        "reference's is not",
        "do the same in each iteration, whatever has ended by then",
        spec,
    )


def _only_counted(spoiler: Spoiler, pair: Pair, spec: RunSpec, how: Spoil) -> EmulatorRun:
    """Run a program as `how` says, and alter nothing."""
    [run] = spoiler.run(pair, [spec], _what(spoiler), replace(how, only_counts=True, versions=0))
    return run


def _late(
    spoiler: Spoiler, outcome: EmulatorRun, own: Spoil, expected: EmulatorRun, stops: Stops | None
) -> Finding | None:
    """Look only whether results are there in time, where memory cannot be altered.

    `own` is how the reference ran, and `stops` are the candidate's.
    """
    spec = outcome.options.run
    how = replace(own, stops=stops, only_counts=True, versions=2 * own.versions)
    untouched = _asking(spoiler, spec, own, expected)
    if untouched is None:
        return _moved(spoiler, outcome, expected, own, how)
    [run] = spoiler.run(spoiler.candidate, [spec], _what(spoiler), how)
    late = not_looked_at({}, run) or late_results(spoiler, untouched, run, own.stops)
    if late:
        return _finding(late, _IN_TIME, spec)
    return _moved(spoiler, outcome, untouched, own, how)


def _moved(
    spoiler: Spoiler, outcome: EmulatorRun, expected: EmulatorRun, own: Spoil, how: Spoil
) -> Finding | None:
    """Look whether results that are moved before they are read are there in time."""
    late = moved_late(spoiler, outcome, expected, own, how)
    return _finding(late, _IN_TIME, outcome.options.run) if late else None


def _asking(
    spoiler: Spoiler, spec: RunSpec, own: Spoil, expected: EmulatorRun
) -> EmulatorRun | None:
    """Return the reference's run with nothing altered, if it leaves results in time."""
    if expected.stats.get("poisoned"):
        how = replace(own, only_counts=True)
        [expected] = spoiler.run_reference([spec], _what(spoiler), how)
    asking = expected.state == "finished" and asks(spoiler, expected, own.stops)
    return expected if asking else None


def _kept_within(
    spoiler: Spoiler, outcome: EmulatorRun, spec: RunSpec, *, steady: bool
) -> Finding | None:
    """Look between two points, where the reference queues the same calls again and again."""
    reference = spoiler.reference.stats[spec.seed]
    point, parts = repeats(reference)
    counts = [n for n in range(parts, 1, -1) if parts % n == 0]
    for count in counts[:_MOST_COUNTS]:
        own = stops_of(reference, point, count)
        hows = [Spoil(stops=own, strict=strict, versions=_VERSIONS_MB) for strict in (True, False)]
        if repeats_as(outcome.stats, point) % count == 0:
            stops = stops_of(outcome.stats, point, count)
            finding, _ = _kept_from(spoiler, outcome, spec, hows, stops, steady=steady)
            if finding is not None:
                return finding
            continue
        how, run, anew = _run_reference(spoiler, spec, hows)
        asked = run.stats.get("poisoned") if anew else _asking(spoiler, spec, how, run)
        if asked:
            calls = max(calls_after(outcome.stats, point).values(), default=0)
            return _finding(
                f"after point {point} at which the program takes the time, the reference does the "
                f"same {count} times over, and the {calls} calls of the candidate do not recur so "
                "often",
                "queue the same kernels, copies and collectives for each iteration",
                spec,
            )
    return None


def _unchanged(spoiler: Spoiler, spec: RunSpec, run: EmulatorRun) -> bool:
    """Whether the reference's run ends, with the outputs that it has otherwise."""
    base = spoiler.reference.samples[spec.seed]
    marks = spoiler.changed(base, run, spoiler.reference.facts)
    return run.state == "finished" and not any_marked(marks)


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


def _kept(how: str, spec: RunSpec) -> Finding:
    return _finding(
        f"{how} on memory that was written before the part that the program times, and the "
        "reference's outputs do not",
        "each iteration must compute its results anew, from the program's inputs",
        spec,
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
        same = verified.get(spec)  # the very same run
        if same is not None and works_otherwise(same.stats, run.stats):
            yield Finding(
                TIMED,
                Severity.ERROR,
                "the timed run does other work than the verified one of the same seed and clock: "
                "the time is not that of what was verified",
                "a program must do the same whatever its clocks say",
                seed=spec.seed,
                timing=spec.timing,
            )
            continue
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
