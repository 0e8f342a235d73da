"""The emulated CUDA runtime does what CUDA documents, and its checks name kind and line."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Finding, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")
DEFECTS = PROGRAMS / "device_defects.cu"
EXPECTED = {
    match[1]: (match[2], number)
    for number, line in enumerate(DEFECTS.read_text().splitlines(), 1)
    if (match := re.search(r"// EXPECT\((\w+)\): (\w+)", line))
}
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY), RunSpec(3, Timing.RANDOM)]


def emulate(
    program: Path, schedule: RunSpec, defines: Mapping[str, str] | None = None, devices: int = 1
) -> EmulatorRun:
    built = build(BuildSpec(program, defines=defines or {}))
    options = RunOptions(run=schedule, ranks=devices, processes="single", limits=Limits(seconds=30))
    return run(built, options)


def errors(outcome: EmulatorRun) -> list[Finding]:
    return [f for f in outcome.findings if f.severity == Severity.ERROR]


def places(finding: Finding) -> set[int | None]:
    return {finding.line, finding.other.line if finding.other else None}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("name", ["threads", "streams", "events_again", "errors", "long_host_loop"])
def test_documented_behavior(name: str, schedule: RunSpec):
    outcome = emulate(PROGRAMS / f"{name}.cu", schedule)
    assert outcome.stdout == ""
    assert outcome.verdict == Verdict.OK, outcome.findings


def test_what_must_be_of_one_device():
    outcome = emulate(PROGRAMS / "device_rules.cu", SCHEDULES[0], devices=2)
    assert outcome.stdout == ""
    assert outcome.verdict == Verdict.OK, outcome.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_host_threads_drive_a_device_each(schedule: RunSpec):
    outcome = emulate(PROGRAMS / "host_threads.cu", schedule, devices=2)
    assert outcome.stdout == ""
    assert outcome.verdict == Verdict.OK, outcome.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_a_wait_ends_while_others_queue_more(schedule: RunSpec):
    outcome = emulate(PROGRAMS / "busy_stream.cu", schedule)
    assert outcome.stdout == ""
    assert outcome.verdict == Verdict.OK, outcome.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_no_finding_without_a_defect(schedule: RunSpec):
    outcome = emulate(DEFECTS, schedule)
    assert outcome.findings == ()
    assert outcome.verdict == Verdict.OK


@pytest.mark.parametrize("macro", sorted(EXPECTED))
def test_defect_is_named_with_its_line(macro: str):
    kind, line = EXPECTED[macro]
    for schedule in SCHEDULES:
        outcome = emulate(DEFECTS, schedule, {macro: ""})
        # A race has two places; which of them comes last depends on the schedule.
        found = {(f.kind, place) for f in errors(outcome) for place in places(f)}
        assert (kind, line) in found, (schedule, outcome.findings)
        assert {k for k, _ in found} - {"exit_code"} == {kind}, (schedule, outcome.findings)
        assert outcome.verdict != Verdict.OK


def test_freed_memory_is_had_again_in_larger_pieces():
    options = RunOptions(ranks=1, processes="single", device_memory_mb=64)
    outcome = run(build(BuildSpec(PROGRAMS / "memory_again.cu")), options)
    assert outcome.stdout == "" and outcome.verdict == Verdict.OK, outcome.findings


def test_same_seed_same_run():
    def trace(seed: int) -> tuple[object, ...]:
        outcome = emulate(DEFECTS, RunSpec(seed, Timing.RANDOM), {"GLOBAL_RACE": ""})
        stats = {k: v for k, v in outcome.stats.items() if k != "seconds"}
        return (outcome.findings, stats)

    assert trace(5) == trace(5)
