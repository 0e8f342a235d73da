"""The time that is scored where a workload names one of the program's own timed regions.

A region is what one call of `cudaEventElapsedTime` gives. A candidate records its events itself, so
what it does beside the region, from its first record until its last kernel, copy or collective,
counts as far as it takes longer than the trusted program's: work that is moved behind the stop
event, or to a stream that the event does not wait for, gains nothing. Windows and communicators
are given back after that. That nothing is moved before the first record is
what the runs with altered memory show (`results_in_time`, `iterations`).
"""

from collections.abc import Sequence

from warploom.core.records import Finding, Severity
from warploom.emulator import Region, Timeline

KIND = "scored_region"


def scored_words(number: int | None, time_source: str) -> str:
    """Return what times are of, in words; `number` is the region, 0 for none, None if unknown."""
    if time_source == "measured":
        return "what the program times itself"
    if number is None:
        return "a timed region of the program"
    return f"the program's timed region {number}" if number else "the whole run"


def scored_times(
    number: int, timelines: Sequence[Timeline], before: Sequence[Timeline]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the times that count, in milliseconds: of a candidate and of the trusted program.

    Args:
        number: which region, from 1, in the order in which a program asks for times.
        timelines: the candidate's timed runs; each has the region (`region_findings`).
        before: the trusted program's runs with the same seeds.
    """
    pairs = [_times(number, ours, theirs) for ours, theirs in zip(timelines, before, strict=True)]
    return tuple(ours for ours, _ in pairs), tuple(theirs for _, theirs in pairs)


def _times(number: int, ours: Timeline, theirs: Timeline) -> tuple[float, float]:
    own, trusted = ours.regions[number - 1], theirs.regions[number - 1]
    longer = max(0.0, _beside(ours, own) - _beside(theirs, trusted))
    return own.sum_ms + longer, trusted.sum_ms


def _beside(timeline: Timeline, region: Region) -> float:
    """Milliseconds from the region's first start to the last work that are not the region's.

    Regions of ranks that begin at different times can make it negative.
    """
    return timeline.device_end_ms - region.start - region.sum_ms


def region_findings(
    number: int, timelines: Sequence[Timeline], before: Sequence[Timeline]
) -> tuple[Finding, ...]:
    """Return why a region cannot be scored; nothing where it can."""
    if not before:
        return (_finding("the trusted program does not run to its end when it is timed"),)
    if any(len(timeline.regions) < number for timeline in before):
        most = min(len(timeline.regions) for timeline in before)
        return (
            _finding(
                f"the workload scores region {number}, but the trusted program times {most}",
                "a region is what one call of cudaEventElapsedTime gives, numbered from 1 in the "
                "order in which a program makes them; scored_region = 0 scores the whole run",
            ),
        )
    for ours, theirs in zip(timelines, before, strict=True):
        expected = len(theirs.regions[number - 1].times)
        found = len(ours.regions[number - 1].times) if len(ours.regions) >= number else 0
        if found != expected:
            return (
                _finding(
                    f"the candidate times region {number} {found} times, the trusted program "
                    f"{expected} times",
                    "keep the program's events and each cudaEventElapsedTime as they are",
                ),
            )
    return ()


def _finding(message: str, hint: str = "") -> Finding:
    return Finding(KIND, Severity.ERROR, message, hint)
