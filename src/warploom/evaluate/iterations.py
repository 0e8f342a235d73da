"""Whether each iteration does its work, and whether a timed run does what a verified one does.

A program that times itself records events. After each of them a candidate must move data as the
reference does: what a warm-up has computed must not be used again. And at such a moment, when
nothing is on its way, the numbers in device memory that were written since the first communication
are altered (runtime/iterations.h): where the reference's outputs stay as they are, a candidate
whose outputs change has kept results.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun
from warploom.evaluate.dependence import Spoiler

WORK, TIMED = "work_differs", "timed_run_differs"
_LEAST = 0.5  # of what the reference moves after a record
_SMALL = 0.05  # of all that it moves: less than that says nothing
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
        scale = min(1.0, run.stats.get("moved", 0) / total) if total else 0.0
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
    """Alter memory between iterations: what is computed anew does not depend on it."""
    reference = spoiler.reference
    records = int(reference.stats[seed].get("records", 0))
    specs = [RunSpec(seed, timing) for timing in (Timing.EAGER, Timing.MODELLED)]
    specs = [spec for spec in specs if spec in outcomes]
    if records < 2 or not specs:
        return
    spec = secrets.choice(specs)
    what = [f"{spoiler.layout()}:none"]
    for tried in _TRIED:
        at = tried or records - 1
        [expected] = spoiler.run_reference([spec], what, poison=at)
        marks = spoiler.changed(reference.samples[seed], expected, reference.facts)
        if expected.state == "finished" and not any(mask.any() for mask in marks.values()):
            break
    else:
        return
    if not expected.stats.get("poisoned"):
        return
    [run] = spoiler.run(spoiler.candidate, [spec], what, poison=at)
    own = spoiler.samples(outcomes[spec], spoiler.candidate.facts)
    marks = spoiler.changed(own, run, spoiler.candidate.facts)
    off = sum(int(mask.sum()) for mask in marks.values())
    if run.state == "finished" and not off:
        return
    how = (
        f"{off} elements of the outputs depend"
        if off
        else f"the end of the run ({run.state}) depends"
    )
    yield Finding(
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
