"""CUB: what it computes, and what goes wrong around it."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run
from warploom.emulator.running.topology import find_topology

PROGRAMS = Path(__file__).with_name("programs")


@cache
def built(name: str, *, timed: bool = False) -> EmulatorBuild:
    return build(BuildSpec(PROGRAMS / name, timed=timed))


def emulate(name: str, *args: str, timing: Timing = Timing.LAZY):
    limits = Limits(seconds=60)
    return run(built(name), RunOptions(ranks=1, run=RunSpec(1, timing), args=args, limits=limits))


def test_what_it_computes():
    outcome = emulate("cub_values.cu")
    assert (outcome.stdout, outcome.verdict, outcome.findings) == ("", Verdict.OK, ())


@pytest.mark.parametrize("timing", [Timing.LAZY, Timing.EAGER, Timing.RANDOM])
def test_a_correct_use_is_not_accused(timing: Timing):
    outcome = emulate("cub_defects.cu", timing=timing)
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize(
    ("defect", "kind", "lines"),
    [
        ("reuse", "shared_memory_race", {14, 16}),
        ("streams", "data_race", {17, 38}),
        ("bounds", "out_of_bounds", {38}),
        ("storage", "data_race", {38, 40}),
    ],
)
def test_a_defect_is_named_at_its_line(defect: str, kind: str, lines: set[int]):
    found = emulate("cub_defects.cu", defect).findings
    errors = [f for f in found if f.severity is Severity.ERROR]
    assert kind in {f.kind for f in errors}
    assert {f.line for f in errors if f.kind == kind} <= lines


def test_it_has_a_price():
    options = RunOptions(ranks=1, machine=find_topology("h200-8"), limits=Limits(seconds=60))
    outcome = run(built("cub_defects.cu", timed=True), options)
    assert outcome.verdict is Verdict.OK
    names = {span.name for span in outcome.timeline.spans if span.end > span.start}
    assert "DeviceReduce::Sum" in names
