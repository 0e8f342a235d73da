"""Loops that wait for memory: they end, and wake only those for whom something changed."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).parent / "programs" / "waiting_loops.cu"
COUNTING = Path(__file__).parent / "programs" / "counting_loops.cu"
HARNESS = Path(__file__).parents[1] / "corpus" / "programs"
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY), RunSpec(3, Timing.RANDOM)]


def outcome_of(schedule: RunSpec, blocks: int, **defines: str) -> EmulatorRun:
    built = build(BuildSpec(PROGRAM, defines=defines))
    limits = Limits(seconds=30)
    options = RunOptions(run=schedule, ranks=1, limits=limits, args=(str(blocks),))
    outcome = run(built, options)
    assert outcome.verdict is Verdict.OK, outcome.findings
    return outcome


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_a_loop_that_waits_for_either_of_two_places_ends(schedule: RunSpec) -> None:
    outcome_of(schedule, 2)


@pytest.mark.parametrize("schedule", SCHEDULES[:2], ids=lambda s: s.timing)
def test_a_chain_of_blocks_takes_turns_in_proportion_to_its_length(schedule: RunSpec) -> None:
    short, long = (outcome_of(schedule, blocks, CHAIN="1") for blocks in (100, 400))
    assert long.stats["switches"] < 6 * short.stats["switches"]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_a_long_loop_over_atomics_is_no_deadlock(schedule: RunSpec) -> None:
    built = build(BuildSpec(PROGRAM.with_name("busy_atomics.cu")))
    outcome = run(built, RunOptions(run=schedule, ranks=1, limits=Limits(seconds=240)))
    assert outcome.verdict is Verdict.OK, outcome.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_who_changes_memory_atomically_waits_for_nobody(schedule: RunSpec) -> None:
    """At random, threads may take turns at each atomic; else only blocks do."""
    built = build(BuildSpec(PROGRAM.with_name("derived_atomics.cu")))
    outcome = run(built, RunOptions(run=schedule, ranks=1, limits=Limits(seconds=60)))
    assert outcome.verdict is Verdict.OK, outcome.findings
    if schedule.timing is not Timing.RANDOM:
        assert outcome.stats["switches"] < 1000


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("form", ["COUNT", "TWO_PLACES", "SHARE"])
def test_a_loop_that_changes_memory_in_each_round_is_no_progress(
    form: str, schedule: RunSpec
) -> None:
    """What is on its way arrives all the same, and what never comes is a deadlock, soon."""
    built = build(BuildSpec(COUNTING, defines={form: "1"}, include_dirs=(HARNESS,)))
    for signals, verdict in (("1", Verdict.OK), ("2", Verdict.DEADLOCK)):
        limits = Limits(seconds=30)
        outcome = run(built, RunOptions(run=schedule, ranks=2, limits=limits, args=(signals,)))
        assert outcome.verdict is verdict, outcome.findings
