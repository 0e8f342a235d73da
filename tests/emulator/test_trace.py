"""The trace of a run: repeatable, bounded, without effect on the run, and telling."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import BuildSpec, Finding, Limits, RunSpec, Timing
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "gin_alltoall.cu"


@cache
def built(defect: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, defines={f"DEFECT_{defect}": ""}))


def findings(defect: str, schedule: RunSpec, trace: int) -> tuple[Finding, ...]:
    options = RunOptions(run=schedule, trace=trace, limits=Limits(seconds=30))
    return run(built(defect), options).findings


@pytest.mark.parametrize("timing", Timing)
def test_identical_runs_have_identical_traces(timing: Timing) -> None:
    schedule = RunSpec(3, timing)
    first = findings("FLUSH_ONLY", schedule, 4096)
    assert first == findings("FLUSH_ONLY", schedule, 4096)
    traced = [finding for finding in first if finding.kind != "exit_code"]
    assert all(finding.trace for finding in traced)
    assert all(len(finding.trace) <= 41 for finding in traced)
    for finding in traced:
        order = [event.seq for event in finding.trace]
        assert order == sorted(set(order))
    # Without a trace the run is the same.
    plain = findings("FLUSH_ONLY", schedule, 0)
    assert plain == tuple(replace(finding, trace=()) for finding in first)


def test_the_ring_keeps_the_last_events_only() -> None:
    schedule = RunSpec(0, Timing.LAZY)
    whole = findings("FLUSH_ONLY", schedule, 4096)[0]
    short = findings("FLUSH_ONLY", schedule, 3)[0]
    assert {event.rank for event in whole.trace} == {whole.rank}
    assert short.trace == whole.trace[-3:]


def test_a_deadlock_shows_every_rank() -> None:
    found = findings("HIGH_THRESHOLD", RunSpec(0, Timing.LAZY), 4096)
    first = next(finding for finding in found if finding.kind == "deadlock")
    assert {event.rank for event in first.trace} == {0, 1, 2, 3}
    texts = [event.text for event in first.trace]
    assert any("waitSignal waits: signal 0" in text and "needs 5" in text for text in texts)
    assert any("arrives: + 1, now 4" in text for text in texts)


@pytest.mark.parametrize("trace", [-1, 1 << 30])
def test_the_size_of_a_trace_is_bounded(trace: int) -> None:
    with pytest.raises(BadInputError, match="trace must be 0 to"):
        findings("FLUSH_ONLY", RunSpec(0, Timing.LAZY), trace)
