"""Which runs a check or a verification makes, and how their progress is told."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from warploom.core.errors import BadInputError
from warploom.core.records import RunSpec, Timing

ALL_TIMINGS = (Timing.LAZY, Timing.EAGER, Timing.RANDOM)


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` steps of `stage` (such as "build" or "run") are finished."""

    stage: str
    done: int
    total: int


ProgressCallback = Callable[[Progress], None]


THOROUGH_SEEDS = 20
"""Random seeds of a thorough check, where nobody asks for a number."""

_BATCH = 5  # random runs of a further batch; a lazy and an eager one go with them


class Effort(StrEnum):
    """How much a check runs: `quick` lazy once, `normal` every timing, `thorough` until dry."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


def parse_effort(text: str) -> Effort:
    """Return the effort that `text` names; raise BadInputError for another word."""
    if text not in tuple(Effort):
        raise BadInputError(f"the effort must be quick, normal or thorough, got {text!r}")
    return Effort(text)


def parse_replay(text: str) -> RunSpec:
    """Turn `SEED:TIMING` into a run; raise BadInputError for anything else."""
    seed, _, timing = text.partition(":")
    if not (seed.isascii() and seed.isdigit() and len(seed) < 20) or timing not in tuple(Timing):
        raise BadInputError(
            f"the run to replay must be SEED:TIMING such as 3:random, got {text!r}",
            hint="the timings are eager, lazy, random and modelled",
        )
    return RunSpec(int(seed), Timing(timing))


Batches = tuple[tuple[RunSpec, ...], ...]


def check_plan(effort: Effort, seeds: int, asked: int | None = None) -> Batches:
    """Return the runs of `check`, the cheapest decisive ones first, in batches.

    Lazy at seed 0 comes first: the happens-before check does not depend on when things arrive, and
    a network that gives nothing early finds most missing waits. `normal` adds eager, and random at
    seeds 0 to K - 1. `thorough` starts as `normal` does and goes on in batches of further random
    seeds, each with one lazy and one eager run at a seed of its own: fresh memory then holds
    another pattern, and a lazy network delivers in another order. The first batch, or the first
    two, are always made; a check may stop after any later one.

    Args:
        effort: how much to run.
        seeds: random seeds of `normal`, and the least of `thorough`.
        asked: random seeds that the user asked for, whatever the effort.
    """
    default = {
        Effort.QUICK: 0, Effort.NORMAL: seeds, Effort.THOROUGH: max(seeds, THOROUGH_SEEDS),
    }  # fmt: skip
    count = default[effort] if asked is None else asked
    first = (RunSpec(0, Timing.LAZY),)
    random = [RunSpec(seed, Timing.RANDOM) for seed in range(count)]
    if effort is Effort.QUICK:
        return (first, tuple(random)) if random else (first,)
    eager = RunSpec(0, Timing.EAGER)
    if effort is Effort.NORMAL:
        return first, (eager, *random)
    start = min(seeds, count)
    further = [
        (RunSpec(number, Timing.LAZY), RunSpec(number, Timing.EAGER), *random[at : at + _BATCH])
        for number, at in enumerate(range(start, count, _BATCH), 1)
    ]
    return (first, (eager, *random[:start]), *further)


def verify_plan(
    seeds: Sequence[int], timings: Sequence[Timing] = ALL_TIMINGS
) -> tuple[RunSpec, ...]:
    """Return every seed with every timing, seed by seed: each seed brings other inputs."""
    return tuple(RunSpec(seed, timing) for seed in seeds for timing in timings)


def with_clock(plan: Sequence[RunSpec]) -> tuple[RunSpec, ...]:
    """Return `plan` and one run in modelled time, if it has an eager one to compare it with.

    A program that looks at clocks can tell the two apart: so it is verified in both.
    """
    eager = next((spec for spec in plan if spec.timing is Timing.EAGER), None)
    clock = () if eager is None else (RunSpec(eager.seed, Timing.MODELLED),)
    return (*plan, *clock)


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
