"""Whether two runs of a program do the same work: launches, accesses, arithmetic, bytes that move.

Who keeps results, and works anew where somebody looks, does other work in the runs where somebody
does: where memory is altered, with one clock, or with one of the seeds.
"""

import itertools
from collections.abc import Iterator, Mapping

from warploom.core.records import RunSpec
from warploom.emulator import EmulatorRun

_SAME = 0.02  # of its kernels, accesses, operations and bytes
_PER_LOOK = 32  # operations of a loop that looks at a flag, each time

Stats = Mapping[str, float]


def works_otherwise(one: Stats, other: Stats, varies: float = 0.0) -> bool:
    """Whether two runs differ in their work by more than a fiftieth, and the share `varies`.

    How often a flag is looked at is no work, and neither are the loops that do it.
    """
    works = [_work(one), _work(other)]
    looks = [stats.get("looks", 0) for stats in (one, other)]
    if any(
        look > _SAME * stats.get("accesses", 0)
        for look, stats in zip(looks, (one, other), strict=True)
    ):
        for look, work in zip(looks, works, strict=True):
            work["accesses"] -= look
    mine, theirs = works
    room = {"operations": _PER_LOOK * max(looks)}
    return any(
        abs(mine[name] - theirs[name]) > (_SAME + varies) * mine[name] + room.get(name, 0)
        for name in mine
    )


def _variation(one: Stats, other: Stats) -> float:
    """Return the largest share by which a part of the work differs."""
    works = zip(_work(one).values(), _work(other).values(), strict=True)
    return max(abs(mine - theirs) / max(mine, 1.0) for mine, theirs in works)


def _work(stats: Stats) -> dict[str, float]:
    return {name: stats.get(name, 0) for name in ("kernels", "accesses", "operations", "moved")}


def otherwise_by_seed(
    outcomes: Mapping[RunSpec, EmulatorRun], reference: Mapping[int, Stats]
) -> str:
    """Say which two seeds a candidate works otherwise with, where the reference does not; or ""."""
    for one, other in _pairs(outcomes):
        known, asked = reference[one.seed], reference[other.seed]
        # Who moves only the rows that are there varies where the reference moves them all.
        varies = _variation(known, asked)
        if not works_otherwise(outcomes[one].stats, outcomes[other].stats, varies):
            continue
        if not works_otherwise(known, asked):
            return (
                f"the work of the run is another with seed {other.seed} than with {one.seed}, and "
                "the reference's is not"
            )
    return ""


def _pairs(outcomes: Mapping[RunSpec, EmulatorRun]) -> Iterator[tuple[RunSpec, RunSpec]]:
    """Yield runs that ended, of the same timing and neighboring seeds."""
    for timing in dict.fromkeys(spec.timing for spec in outcomes):
        specs = [
            spec
            for spec, run in outcomes.items()
            if spec.timing is timing and run.state == "finished"
        ]
        yield from itertools.pairwise(specs)
