"""What a program does again and again, and how much data moves in each part of it.

It is told by the counters of a run (behavior/iterations.cpp).
"""

import itertools
import math
from collections.abc import Mapping

from warploom.emulator import Stops

_LEAST = 0.75  # of what the reference moves after a record
_SETUP = 0.05  # of all that it moves: a candidate may move as much more in its set-up
_SMALL = 0.05  # of all that it moves: less than that says nothing
_MOST_POINTS = 64  # that are compared with each other


def _times(stats: Mapping[str, float]) -> int:
    return int(stats.get("records", 0))


def moves_less(wanted: Mapping[str, float], got: Mapping[str, float]) -> str:
    """Say after which point less data moves than in the reference; "" if after none."""
    total, moved = wanted.get("moved", 0), got.get("moved", 0)
    scale = min(1.0, max(0.0, moved / total - _SETUP)) if total else 0.0
    warm_up = wanted.get("moved_at_0", 0)
    if warm_up >= _SMALL * total > 0:
        scale = max(scale, min(1.0, got.get("moved_at_0", 0) / warm_up))
    for before, after in itertools.combinations_with_replacement(
        range(min(_times(wanted), _MOST_POINTS)), 2
    ):
        want, have = moved_between(wanted, before, after), moved_between(got, before, after)
        if want is None or have is None or want < _SMALL * total:
            continue
        if have < _LEAST * scale * want:
            until = f" and before point {after + 1}" if after > before else ""
            return (
                f"{have:.0f} bytes move between ranks after point {before + 1} at which the "
                f"program takes the time{until}, and {want:.0f} in the reference"
            )
    return ""


def moved_between(stats: Mapping[str, float], first: int, last: int) -> float | None:
    """Return how many bytes move between two points, or from one to the end of the run.

    None if something was on its way at one of them.
    """
    if not (stats.get(f"idle_at_{first}", 0) and stats.get(f"idle_at_{last}", 0)):
        return None
    end = stats.get(f"moved_at_{last}", 0) if last > first else stats.get("moved", 0)
    return end - stats.get(f"moved_at_{first}", 0)


def uneven(wanted: Mapping[str, float], got: Mapping[str, float], stops: Stops | None) -> str:
    """Say whether the repetitions of the work move less and less, where the reference's do not."""
    if stops is None:
        return ""
    mine, theirs = _parts(got, stops), _parts(wanted, stops)
    if not mine or not theirs or max(mine) <= 0 or max(theirs) <= 0:
        return ""
    if min(mine) / max(mine) >= _LEAST * min(theirs) / max(theirs):
        return ""
    return (
        f"between {min(mine):.0f} and {max(mine):.0f} bytes move between ranks in each of "
        f"{len(mine)} repetitions, and {min(theirs):.0f} to {max(theirs):.0f} in the reference"
    )


def _parts(stats: Mapping[str, float], stops: Stops) -> list[float]:
    """Return how many bytes move in each repetition between two points; none if that is unknown."""
    after = f"moved_at_{stops.point}"
    names = [f"moved_at_{stops.point - 1}"]
    names += [f"moved_at_stop_{i}" for i in range(stops.parts - 1)]
    names.append(after if after in stats else "moved")
    if not all(name in stats for name in names):
        return []
    return [stats[after] - stats[before] for before, after in itertools.pairwise(names)]


def calls_after(stats: Mapping[str, float], record: int) -> dict[int, int]:
    """Return how many calls each process queues between this record and the next."""
    head = f"calls_after_{record}_of_"
    return {int(k.removeprefix(head)): int(v) for k, v in stats.items() if k.startswith(head)}


def repeats_as(stats: Mapping[str, float], record: int) -> int:
    """Return how often all processes repeat the same calls after this record; at least once."""
    head = f"repeats_after_{record}_of_"
    return math.gcd(*(int(v) for k, v in stats.items() if k.startswith(head))) or 1


def repeats(stats: Mapping[str, float]) -> tuple[int, int]:
    """Return the record that most calls follow, and how often they repeat."""
    records = range(1, int(stats.get("records", 0)) + 1)
    record = max(records, key=lambda one: sum(calls_after(stats, one).values()))
    return record, repeats_as(stats, record)


def stops_of(stats: Mapping[str, float], point: int, parts: int) -> Stops:
    """Return where the parts begin after a point, by how many calls each process makes there."""
    calls = calls_after(stats, point)
    return Stops(point, parts, tuple(calls[rank] // parts for rank in sorted(calls)))
