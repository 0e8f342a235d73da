"""Which runs a check or a verification makes, and how their progress is told."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warploom.core.records import RunSpec, Timing

ALL_TIMINGS = (Timing.LAZY, Timing.EAGER, Timing.RANDOM)


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` steps of `stage` (such as "build" or "run") are finished."""

    stage: str
    done: int
    total: int


ProgressCallback = Callable[[Progress], None]


def check_plan(seeds: int) -> tuple[RunSpec, ...]:
    """Return the runs of `check`: lazy and eager at seed 0, then random at seeds 0 to K - 1.

    Lazy comes first: it alone finds most missing waits. A lazy or eager network has no choices
    for a seed to make, so only random is repeated; `--seeds 1` still runs all three timings.
    """
    first = (RunSpec(0, Timing.LAZY), RunSpec(0, Timing.EAGER))
    return (*first, *(RunSpec(seed, Timing.RANDOM) for seed in range(seeds)))


def verify_plan(seeds: int, timings: Sequence[Timing] = ALL_TIMINGS) -> tuple[RunSpec, ...]:
    """Return every seed with every timing, seed by seed: each seed brings other inputs."""
    return tuple(RunSpec(seed, timing) for seed in range(seeds) for timing in timings)


def worker_count(jobs: int | None, runs: int) -> int:
    """Return how many runs to have at once: `jobs`, or one per available core."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(jobs or cores, runs))


def ignore_progress(_: Progress) -> None:
    """The callback where nobody watches."""


def counter(stage: str, total: int, report: ProgressCallback) -> Callable[[object], None]:
    """Return a callback for each finished step of `stage`, which tells `report` how many are."""
    done = 0
    report(Progress(stage, 0, total))

    def finished(_: object) -> None:
        nonlocal done
        done += 1
        report(Progress(stage, done, total))

    return finished
