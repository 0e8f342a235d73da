"""Whether each iteration does its work, and whether a timed run does what a verified one does.

A program that times itself records events. Between two of them a candidate must move as large a
share of all that it moves as the reference does: what a warm-up has computed must not be used
again. And at such a moment, when nothing is on its way, the numbers in device memory that were
written since the first communication are altered (runtime/iterations.h): where the reference's
outputs stay as they are, a candidate whose outputs change has kept results.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun
from warploom.evaluate.dependence import Spoiler

WORK, TIMED = "work_differs", "timed_run_differs"
_LEAST = 0.5  # of the share that the reference moves after a record
_SMALL = 0.05  # shares below this say nothing
_TRIED = (0, 1)  # records that memory is altered at: all but the last, or the first

_MOVED = ("put_bytes", "peer_bytes", "host_bytes", "copied_bytes", "mpi_bytes")
_COUNTED = ("kernels", "threads", "puts", "host_calls", "staged_bytes", *_MOVED)


def work_findings(
    outcomes: Mapping[RunSpec, EmulatorRun], reference: Mapping[int, Mapping[str, float]]
) -> Iterator[Finding]:
    """Compare how the data that moves is shared out among the parts that the program times."""
    for spec, run in outcomes.items():
        want, have = _later_shares(reference[spec.seed]), _later_shares(run.stats)
        for number, (share, got) in enumerate(zip(want, have, strict=False), 1):
            if share is None or got is None or share < _SMALL or got >= _LEAST * share:
                continue
            message = (
                f"{got:.0%} of what moves between ranks moves after record {number} of an event, "
                f"but {share:.0%} in the reference"
            )
            hint = "each iteration must communicate and compute anew"
            yield Finding(WORK, Severity.ERROR, message, hint, seed=spec.seed, timing=spec.timing)
            break


def _moved(stats: Mapping[str, float]) -> float:
    return sum(stats.get(name, 0) for name in _MOVED)


def _later_shares(stats: Mapping[str, float]) -> list[float | None]:
    """Return for each record the share of data that moves after it.

    None where something was on its way at the record.
    """
    total = _moved(stats)
    shares: list[float | None] = []
    for at in range(int(stats.get("records", 0))):
        idle = stats.get(f"idle_at_{at}", 0) and total
        shares.append((total - stats.get(f"moved_at_{at}", 0)) / total if idle else None)
    return shares


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
