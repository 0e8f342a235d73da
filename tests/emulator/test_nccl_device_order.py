"""What orders memory between ranks on the device; without it, the defect is named."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "nccl_device_order.cu"
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY), RunSpec(9, Timing.RANDOM)]
KINDS = {
    "no_entry": {"data_race"},
    "device_scope": {"scope_too_narrow"},
    "uncounted": {"source_reuse"},
    # It may still be on its way at the end.
    "unflushed": {
        "missing_wait",
        "use_after_destroy",
        "window_deregistered",
        "window_use_after_free",
    },
}


@cache
def built() -> EmulatorBuild:
    return build(BuildSpec(PROGRAM))


def emulate(schedule: RunSpec, *args: str, ranks: int = 4):
    return run(built(), RunOptions(run=schedule, ranks=ranks, args=args, limits=Limits(seconds=30)))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("ranks", [2, 4, 7])
def test_ordered_memory_is_not_accused(ranks: int, schedule: RunSpec):
    outcome = emulate(schedule, ranks=ranks)
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize("defect", sorted(KINDS))
def test_missing_order_is_named(defect: str):
    text = PROGRAM.read_text().splitlines()
    line = next(n for n, code in enumerate(text, 1) if f"// EXPECT {defect}" in code)
    for schedule in SCHEDULES:
        outcome = emulate(schedule, defect)
        errors = [f for f in outcome.findings if f.severity is Severity.ERROR]
        places = {(f.kind, p) for f in errors for p in (f.line, f.other and f.other.line)}
        assert any((kind, line) in places for kind in KINDS[defect]), (schedule, errors)
        assert {f.kind for f in errors} <= KINDS[defect], (schedule, errors)
