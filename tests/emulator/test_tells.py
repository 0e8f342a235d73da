"""What a program can see in the emulator is what it could see on a GPU."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")
SEEDS = range(12)


def emulate(name: str, *args: str, schedule: RunSpec | None = None) -> EmulatorRun:
    spec = schedule or RunSpec(0, Timing.EAGER)
    options = RunOptions(run=spec, ranks=1, args=args, limits=Limits(seconds=30))
    return run(build(BuildSpec(PROGRAMS / f"{name}.cu")), options)


@cache
def shown(seed: int, timing: Timing = Timing.EAGER) -> tuple[tuple[int, ...], str]:
    outcome = emulate("addresses", schedule=RunSpec(seed, timing))
    assert outcome.verdict is Verdict.OK, outcome.findings
    first, second = outcome.stdout.splitlines()
    return tuple(int(word, 16) for word in first.split()), second


def test_addresses_are_drawn_for_each_run_from_where_gpus_have_them():
    seen = [shown(seed)[0] for seed in SEEDS]
    for kind in zip(*seen, strict=True):
        assert len(set(kind)) == len(SEEDS)
    device, pinned, shared, local, stack, heap = (list(kind) for kind in zip(*seen, strict=True))
    mapped = range(0x6F0000000000, 0x7FFFFFFFF000)
    low = range(1 << 33, 1 << 42)
    for of_device in (device, pinned, shared, local):
        assert all(address in mapped or address in low for address in of_device)
        # No one test of the upper bits holds in all runs.
        assert {address >> 41 == 0x3F for address in of_device} == {True, False}
    assert all(address in mapped for address in stack)
    assert all(address in mapped or address >> 40 in (0x55, 0x56) for address in heap)
    assert all(address & 0xFFFFFF < 256 << 10 for address in shared)


def test_the_timings_of_a_seed_take_all_ranges_between_them():
    timings = (Timing.EAGER, Timing.LAZY, Timing.RANDOM)
    for seed in SEEDS:
        device, *_, stack, heap = zip(*(shown(seed, timing)[0] for timing in timings), strict=True)
        for of_kind in (device, stack, heap):
            assert {address >> 41 == 0x3F for address in of_kind} == {True, False}
        assert sum(address < 1 << 42 for address in device) == 1
        assert sum(address >> 40 in (0x55, 0x56) for address in heap) == 1


def test_builtin_variables_are_lvalues_and_shared_addresses_offsets():
    for seed in SEEDS:
        assert shown(seed)[1] == "1024 0 7 3 7"


def test_a_program_is_started_as_on_a_cluster():
    outcome = emulate("started")
    assert outcome.stdout == "./program 2 1 1\n"  # 2: AF_INET


def test_shifts_by_too_much_give_what_a_gpu_gives():
    outcome = emulate("shifts")
    assert outcome.verdict is Verdict.OK, outcome.findings
    expected = [0, 0, -1, 0, 0, 0, 3 << 32, 0, 48 + 16 - 16 + (32 >> 4 | 16), 2]
    assert [int(word) for word in outcome.stdout.split()] == expected


def test_a_shift_that_is_not_seen_stops_the_program():
    text = (PROGRAMS / "shifts.cu").read_text().splitlines()
    line = next(n for n, code in enumerate(text, 1) if "// EXPECT" in code)
    outcome = emulate("shifts", "more")
    found = [f for f in outcome.findings if f.kind == "crash"]
    assert [(f.line, "shift" in f.hint) for f in found] == [(line, True)]


@pytest.mark.parametrize("timing", list(Timing))
def test_a_run_can_be_repeated(timing: Timing):
    again = emulate("addresses", schedule=RunSpec(1, timing))
    # Where a library happens to lie at the place drawn, the next one is taken.
    same = sum(a == b for a, b in zip(shown(1, timing)[0], _words(again), strict=True))
    assert same >= 3


def _words(outcome: EmulatorRun) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in outcome.stdout.splitlines()[0].split())
