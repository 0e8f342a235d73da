"""Bytes of a window that a one-sided call still has, and what others do to them meanwhile."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run
from warploom.emulator.building.build_records import EmulatorBuild

PROGRAM = Path(__file__).with_name("programs") / "mpi_in_flight.cu"
IN_USE, RACE = "mpi_buffer_in_use", "data_race"

# What is called, and what its wrong form is found as; `wrong values`: it goes wrong in lazy runs.
FORMS = {
    "unflushed(false)": IN_USE,
    "unflushed(true)": IN_USE,
    "flagged()": "wrong values",
    "posted(false, false)": IN_USE,
    "posted(false, true)": IN_USE,
    "posted(true, false)": f"{IN_USE} {RACE}",
    "posted(true, true)": f"{IN_USE} {RACE}",
    "target_stores(true, 0)": IN_USE,
    "target_stores(true, 1)": IN_USE,
    "target_stores(false, 0)": IN_USE,
    "target_stores(false, 1)": IN_USE,
    "target_loads(0)": IN_USE,
    "target_loads(1)": IN_USE,
    **{f"target_moves({how})": IN_USE for how in range(7)},
    "two_calls(0, 0, true, false)": RACE,
    "two_calls(0, 0, false, false)": RACE,
    "two_calls(0, 0, false, true)": RACE,
    "two_calls(0, 1, false, false)": RACE,
    "two_calls(1, 0, true, false)": RACE,
    "two_calls(0, 2, false, false)": RACE,
    "two_calls(3, 0, false, false)": RACE,
    "two_calls(2, 1, false, true)": RACE,
    "counted()": IN_USE,
    "guarded(false)": RACE,
    "guarded(true)": RACE,
    "ping_pong()": "wrong values",
    "two_flags()": IN_USE,
    "fetched()": IN_USE,
    "exclusive()": f"{IN_USE} {RACE}",
    "queued()": IN_USE,
    "halo(true)": IN_USE,
    "halo(false)": IN_USE,
    "given_back()": IN_USE,
    "freed(0)": f"{IN_USE} use_after_free",
    "freed(1)": f"{IN_USE} use_after_free",
}
# Two accumulations exclude each other, and memory that is shared is ordered by MPI_Win_sync.
ALWAYS_RIGHT = (
    "two_calls(2, 2, true, false)", "two_calls(2, 3, false, false)",
    "two_calls(2, 3, false, true)", "two_calls(1, 1, false, false)", "shared()",
)  # fmt: skip


@cache
def built() -> EmulatorBuild:
    return build(BuildSpec(PROGRAM))


def emulate(
    form: str, timing: Timing, *, wrong: bool = False, seed: int = 0, syncs: int = 1
) -> EmulatorRun:
    args = (form, str(int(wrong)), str(syncs))
    return run(built(), RunOptions(ranks=3, args=args, run=RunSpec(seed, timing)))


@pytest.mark.parametrize("form", [*FORMS, *ALWAYS_RIGHT])
def test_what_is_ordered_is_clean(form: str) -> None:
    runs = [(timing, seed) for timing in Timing for seed in range(3)]
    for timing, seed in runs:
        outcome = emulate(form, timing, seed=seed)
        assert outcome.findings == (), (timing, seed, outcome.findings)
        assert set(outcome.exit_codes.values()) == {0}, (timing, seed, outcome.stdout)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_is_found(form: str) -> None:
    for timing in (Timing.LAZY, Timing.EAGER):
        outcome = emulate(form, timing, wrong=True)
        found = {one.kind for one in outcome.findings if one.severity == Severity.ERROR}
        if FORMS[form] != "wrong values":
            assert found & set(FORMS[form].split()), (timing, outcome.findings)
        elif timing == Timing.LAZY:
            assert 1 in outcome.exit_codes.values(), outcome.findings


@pytest.mark.parametrize("syncs", [2, 5])
@pytest.mark.parametrize("timing", list(Timing))
def test_looking_often_completes_no_put(timing: Timing, syncs: int) -> None:
    outcome = emulate("unflushed(false)", timing, wrong=True, syncs=syncs)
    (found,) = [one for one in outcome.findings if one.severity == Severity.ERROR]
    assert found.kind == IN_USE and "though its rank has gone on" in found.message


def test_a_conflict_names_both_sides() -> None:
    for origin in (0, 1):
        found = emulate(f"target_stores(true, {origin})", Timing.LAZY, wrong=True).findings
        (one,) = [one for one in found if one.severity == Severity.ERROR]
        assert "MPI_Put" in one.message and one.line and one.other, one
