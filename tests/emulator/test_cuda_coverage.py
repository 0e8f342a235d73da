"""Cooperative groups, graphs, launch forms and device variables work as CUDA documents them."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Finding, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY), RunSpec(3, Timing.RANDOM)]
PLANTED = [
    *("cooperative", "graphs", "variables", "ptx"),
    *("device_heap", "graph_memory", "pipelines", "intrinsics", "async_copies"),
]
CORRECT = {
    "launch_forms": 1,
    "device_values": 2,
    "graph_collectives": 2,
    "helpers": 1,
    "half_values": 1,
}
CASES = [
    (name, match[1], match[2], number)
    for name in PLANTED
    for number, line in enumerate((PROGRAMS / f"{name}.cu").read_text().splitlines(), 1)
    for match in re.finditer(r"EXPECT\((\w+)\): ([\w|]+)", line)
]


def emulate(
    name: str, schedule: RunSpec, defines: Mapping[str, str] | None = None, devices: int = 1
) -> EmulatorRun:
    built = build(BuildSpec(PROGRAMS / f"{name}.cu", defines=defines or {}))
    options = RunOptions(run=schedule, ranks=devices, processes="single", limits=Limits(seconds=30))
    return run(built, options)


def errors(outcome: EmulatorRun) -> list[Finding]:
    return [f for f in outcome.findings if f.severity == Severity.ERROR]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("name", [*PLANTED, *CORRECT])
def test_documented_behavior(name: str, schedule: RunSpec):
    outcome = emulate(name, schedule, devices=CORRECT.get(name, 1))
    assert outcome.stdout == ""
    assert errors(outcome) == []
    assert outcome.verdict == Verdict.OK


@pytest.mark.parametrize(("name", "macro", "kind", "line"), CASES, ids=lambda c: str(c))
def test_defect_is_named_with_its_line(name: str, macro: str, kind: str, line: int):
    for schedule in SCHEDULES:
        found = errors(emulate(name, schedule, {macro: ""}))
        places = {
            (f.kind, place) for f in found for place in (f.line, f.other.line if f.other else None)
        }
        kinds = set(kind.split("|"))
        assert any((one, line) in places for one in kinds), (schedule, found)
        assert {f.kind for f in found} - {"exit_code"} <= kinds, (schedule, found)


def test_a_graph_that_one_rank_does_not_launch_is_a_deadlock_named_by_its_node():
    outcome = emulate("graph_collectives", SCHEDULES[0], {"ONE_MISSING": ""}, devices=2)
    assert outcome.verdict == Verdict.DEADLOCK
    assert any("ncclAllReduce" in f.message and "rank 1" in f.message for f in errors(outcome))


def test_equal_stores_by_many_threads_are_a_warning():
    findings = emulate("variables", SCHEDULES[0]).findings
    assert [(f.severity, f.kind) for f in findings] == [(Severity.WARNING, "data_race")]
