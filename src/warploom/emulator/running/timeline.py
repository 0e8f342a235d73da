"""What a timed run did when: spans of each rank's host and streams, and where its time went."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from warploom.core.records import Json
from warploom.emulator.running.report import RawSpan, Report
from warploom.emulator.running.symbolize import Symbolizer

_MS = 1e-6
"""Milliseconds in a nanosecond."""
_ROUNDING = 0.01
"""Nanoseconds below which a difference of written times means nothing."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where the modelled time of one rank went, in milliseconds; the parts add up to `total`.

    `compute`: a kernel or a copy inside of the device worked. `exposed`: nothing computed while
    data was on its way. `waiting`: nothing moved either, because another rank was late. `host`:
    the device had nothing to do.
    """

    rank: int
    total: float
    compute: float
    exposed: float
    waiting: float
    host: float


@dataclass(frozen=True, slots=True)
class Region:
    """What one call of `cudaEventElapsedTime` in the text gave, in modelled milliseconds.

    `times` holds, for the first, second, ... time that the ranks made the call, the maximum over
    the ranks; `start` is when the earliest of them began, since the start of the run.
    """

    file: str | None
    line: int | None
    times: tuple[float, ...]
    start: float = 0.0

    @property
    def median_ms(self) -> float:
        """The median of `times`."""
        return median(self.times)

    @property
    def sum_ms(self) -> float:
        """All of `times` together."""
        return sum(self.times)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The modelled time of a run.

    All ranks start at 0. `spans` are in nanoseconds, `dropped` is how many were too many to keep;
    `ends` is when each process ended its `main`, in milliseconds.
    """

    spans: tuple[RawSpan, ...]
    regions: tuple[Region, ...]
    ends: Mapping[int, float]
    dropped: int = 0

    @property
    def total_ms(self) -> float:
        """When the last rank was done, in milliseconds."""
        return max(self.ends.values(), default=0.0)

    @property
    def device_end_ms(self) -> float:
        """When the last kernel, copy or collective was done, in milliseconds.

        The end of the run where spans were dropped, or there are none.
        """
        ends = [] if self.dropped else [span.end for span in self.spans if span.kind != "host"]
        return max(ends) * _MS if ends else self.total_ms

    def breakdown(self) -> tuple[Breakdown, ...]:
        """Return where each rank's time went, in order of rank."""
        ranks = sorted({*self.ends, *(span.rank for span in self.spans)})
        total = self.total_ms
        return tuple(
            _breakdown(rank, total, [span for span in self.spans if span.rank == rank])
            for rank in ranks
        )

    def chrome_trace(self) -> dict[str, Json]:
        """Return the timeline in Chrome's trace format, which Perfetto opens (times in us)."""
        events: list[Json] = []
        lanes = sorted({(span.rank, span.lane) for span in self.spans})
        events += [
            _label("process_name", rank, 0, f"rank {rank} (modelled)")
            for rank in sorted({rank for rank, _ in lanes})
        ]
        for rank, lane in lanes:
            name = "host" if lane == 0 else "default stream" if lane == 1 else f"stream {lane - 1}"
            events.append(_label("thread_name", rank, lane, name))
        events += [_event(span) for span in self.spans]
        return {"traceEvents": events, "displayTimeUnit": "ns"}


def _label(kind: str, rank: int, lane: int, name: str) -> Json:
    return {"ph": "M", "name": kind, "pid": rank, "tid": lane, "args": {"name": name}}


def _event(span: RawSpan) -> Json:
    length = span.end - span.start
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.kind,
        "pid": span.rank,
        "tid": span.lane,
        "ts": span.start / 1000,
        "dur": length / 1000,
        "args": {
            "compute_us": max(0.0, length - span.waited - span.communicated) / 1000,
            "communication_us": span.communicated / 1000,
            "waiting_us": span.waited / 1000,
        },
    }


def _breakdown(rank: int, total: float, spans: Sequence[RawSpan]) -> Breakdown:
    """Sweep over the rank's spans: at each moment the most useful thing that happens counts."""
    changes: list[tuple[float, int, int]] = []  # time, what, +1 or -1
    for span in spans:
        if span.kind == "host":
            continue
        at = span.start
        work = max(0.0, span.end - span.start - span.waited - span.communicated)
        # Where inside of a kernel it waited is not kept: its work is taken to come first.
        for what, length in enumerate((work, span.communicated, span.waited)):
            if length > _ROUNDING:
                changes += [(at, what, 1), (at + length, what, -1)]
                at += length
    changes.sort()
    active, sums, before = [0, 0, 0], [0.0, 0.0, 0.0], 0.0
    for time, what, step in changes:
        current = next((kind for kind in range(3) if active[kind]), None)
        if current is not None:
            sums[current] += time - before
        active[what] += step
        before = time
    compute, exposed, waiting = (value * _MS for value in sums)
    rest = max(0.0, total - compute - exposed - waiting)
    return Breakdown(rank, total, compute, exposed, waiting, rest)


def timeline_of(report: Report, symbols: Symbolizer) -> Timeline:
    """Return the timeline of a timed run; `symbols` has seen the stacks of its intervals."""
    calls: dict[tuple[str | None, int | None], dict[int, list[float]]] = {}
    starts: dict[tuple[str | None, int | None], float] = {}
    for raw in report.intervals:
        place = symbols.locate(raw.frames)
        where = (place.file, place.line) if place else (None, None)
        calls.setdefault(where, {}).setdefault(raw.rank, []).append(raw.nanoseconds * _MS)
        starts[where] = min(starts.get(where, math.inf), raw.start * _MS)
    regions = [
        Region(
            file,
            line,
            tuple(
                max(times[i] for times in ranks.values() if i < len(times))
                for i in range(max(map(len, ranks.values())))
            ),
            starts[file, line],
        )
        for (file, line), ranks in calls.items()
    ]
    ends = {rank: end * _MS for rank, end in sorted(report.clocks.items())}
    return Timeline(tuple(report.spans), tuple(regions), ends, report.spans_dropped)
