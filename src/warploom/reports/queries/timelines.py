"""Modelled timelines of programs, where a run's folder holds them: `timelines/NUMBER.json`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.reports.queries.clean import clean

_MOST_SPANS = 20_000


@dataclass(frozen=True, slots=True)
class Span:
    """Something that ran on a lane of a rank; times in microseconds since the start."""

    rank: int
    lane: int
    name: str
    kind: str
    start: float
    length: float
    compute: float
    communication: float
    waiting: float


@dataclass(frozen=True, slots=True)
class ShownTimeline:
    """When what ran. `lanes` names (rank, lane); `left_out` spans were too many to show."""

    spans: list[Span]
    lanes: dict[str, str]
    left_out: int


def timeline_path(folder: Path, number: int) -> Path:
    """Return where the timeline of a program is kept."""
    return folder / "timelines" / f"{number}.json"


def timeline_of(folder: Path | None, number: int) -> ShownTimeline | None:
    """Return a kept timeline; None where there is none."""
    if folder is None:
        return None
    try:
        data: Any = json.loads(timeline_path(folder, number).read_bytes())
        events: list[Any] = list(data["traceEvents"])
        spans = [_span(event) for event in events if event["ph"] == "X"]
        lanes = {
            f"{event['pid']}/{event['tid']}": clean(str(event["args"]["name"]))
            for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ShownTimeline(spans[:_MOST_SPANS], lanes, max(0, len(spans) - _MOST_SPANS))


def _span(event: Any) -> Span:
    parts = event["args"]
    return Span(
        int(event["pid"]), int(event["tid"]), clean(str(event["name"])), clean(str(event["cat"])),
        float(event["ts"]), float(event["dur"]), float(parts["compute_us"]),
        float(parts["communication_us"]), float(parts["waiting_us"]),
    )  # fmt: skip
