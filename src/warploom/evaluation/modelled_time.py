"""The record of a modelled time, and its score."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from warploom.core.records import Finding, Json, RunSpec, Severity, to_json
from warploom.emulator import Region, Timeline

_LONGEST_MS = 3.6e6
"""Milliseconds: an hour of a GPU's work is years of the emulator's."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The modelled time of a candidate, in milliseconds.

    `times` holds one for each input seed, each the maximum over the ranks of a run in which all
    start together; `time_ms` is their median. `timeline` is that of the first seed.
    `baseline_ms` is the trusted program's time, None where it was not asked for or does not run
    well, and `baseline_regions` what that program times itself, with the first seed.
    With a `scored_region`, `times` and `baseline_ms` are those of that region
    (`scored_region.py`), and `whole_ms` and `baseline_whole_ms` those of the whole run.
    """

    topology: str
    times: tuple[float, ...]
    timeline: Timeline
    baseline_ms: float | None = None
    baseline_regions: tuple[Region, ...] = ()
    scored_region: int = 0
    whole_ms: float | None = None
    baseline_whole_ms: float | None = None

    @property
    def time_ms(self) -> float:
        """The median over the input seeds."""
        return median(self.times)

    @property
    def metrics(self) -> Mapping[str, float]:
        """Time, score, and where the time of the slowest rank went (milliseconds)."""
        found = {"time_ms": self.time_ms, "score": score_of(self.time_ms)}
        parts = self.timeline.breakdown()
        if parts:
            slowest = max(parts, key=lambda p: (self.timeline.ends.get(p.rank, 0.0), -p.rank))
            found |= {
                "compute_ms": slowest.compute,
                "exposed_ms": slowest.exposed,
                "waiting_ms": slowest.waiting,
                "host_ms": slowest.host,
            }
        if self.baseline_ms is not None:
            found |= {"baseline_ms": self.baseline_ms, "speedup": self.baseline_ms / self.time_ms}
        if self.whole_ms is not None:
            found["whole_ms"] = self.whole_ms
        if self.baseline_whole_ms is not None:
            found["baseline_whole_ms"] = self.baseline_whole_ms
        return found

    def renamed(self, names: Mapping[str, str]) -> "Benchmark":
        """Return it with the regions' files called what `names` says."""
        regions = tuple(
            replace(region, file=names.get(region.file or "", region.file))
            for region in self.timeline.regions
        )
        return replace(self, timeline=replace(self.timeline, regions=regions))

    def to_json(self) -> dict[str, Json]:
        """Return all but the timeline's spans as plain JSON values."""
        return {
            "topology": self.topology,
            "time_source": "modelled",
            "scored_region": self.scored_region,
            "times_ms": list(self.times),
            "metrics": to_json(self.metrics),
            "ranks": [to_json(part) for part in self.timeline.breakdown()],
            "regions": _regions(self.timeline.regions),
            "baseline_regions": _regions(self.baseline_regions),
        }


def _regions(regions: Sequence[Region]) -> list[Json]:
    return [{**_object(to_json(one)), "median_ms": one.median_ms} for one in regions]


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


def is_possible(timeline: Timeline) -> bool:
    """Return whether a program could have run for all the times of `timeline`."""
    regions = (time for region in timeline.regions for time in region.times)
    return all(0 <= time <= _LONGEST_MS for time in (timeline.total_ms, *regions))


def impossible_time(timeline: Timeline, spec: RunSpec) -> Finding:
    """Return what is wrong with a time that `is_possible` refuses."""
    longest = max(
        (timeline.total_ms, *(time for one in timeline.regions for time in one.times)),
        key=lambda time: (not math.isfinite(time), time),
    )
    return Finding(
        "impossible_time",
        Severity.ERROR,
        f"the modelled time is {longest:.3g} ms: no run that ends here can take more than "
        f"{_LONGEST_MS / 3.6e6:g} hours, so it is no measure of the program",
        "look for sleeps and for loops that wait by the clock; where there are none, the model is "
        "wrong: please report it",
        seed=spec.seed,
        timing=spec.timing,
    )


def score_of(time_ms: float) -> float:
    """Return the score of a time in milliseconds: 10000 / (1 + time)."""
    return 10000.0 / (1.0 + time_ms)
