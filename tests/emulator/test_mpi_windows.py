"""One-sided MPI: data arrives by the synchronization, and not before it can be relied on."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "mpi_windows.cu"


def emulate(timing: Timing, seed: int = 0, ranks: int = 3, **defines: str) -> EmulatorRun:
    built = build(BuildSpec(PROGRAM, defines=defines))
    return run(built, RunOptions(ranks=ranks, run=RunSpec(seed, timing)))


def kinds(outcome: EmulatorRun) -> set[str]:
    return {found.kind for found in outcome.findings if found.severity == Severity.ERROR}


@pytest.mark.parametrize(
    ("timing", "seed"),
    [(Timing.LAZY, 0), (Timing.EAGER, 0), *((Timing.RANDOM, seed) for seed in range(6))],
)
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_correct_program_passes(timing: Timing, seed: int, ranks: int) -> None:
    outcome = emulate(timing, seed, ranks)
    assert outcome.findings == (), outcome.stdout
    assert outcome.exit_codes == dict.fromkeys(range(ranks), 0), outcome.stdout


@pytest.mark.parametrize("timing", [Timing.LAZY, Timing.EAGER])
@pytest.mark.parametrize(
    ("defect", "kind"),
    [
        ("NO_EPOCH", "mpi_mismatch"),
        ("TOO_FAR", "window_range"),
        ("TWO_PUTS", "data_race"),
        ("SOURCE_FILLED", "mpi_buffer_in_use"),
        ("NOT_CLOSED", "mpi_mismatch"),
        ("EARLY_RESULT", "mpi_buffer_in_use"),
        ("ORIGIN_CHANGED", "mpi_buffer_in_use"),
        ("WINDOW_READ", "mpi_buffer_in_use"),
        ("NEVER_UNLOCKED", "deadlock"),
        ("NO_POST", "deadlock"),
        ("AFTER_FREE", "crash"),
    ],
)
def test_what_breaks_a_rule_is_found(defect: str, kind: str, timing: Timing) -> None:
    outcome = emulate(timing, **{defect: "1"})
    assert kind in kinds(outcome), (outcome.findings, outcome.stdout)


def test_what_is_read_before_the_fence_is_found_whenever_it_comes() -> None:
    for timing in (Timing.LAZY, Timing.EAGER):
        assert kinds(emulate(timing, EARLY_COPY="1")) & {"mpi_buffer_in_use", "data_race"}


@pytest.mark.parametrize("defect", ["FLUSHED_LOCALLY", "BEFORE_WAIT"])
def test_a_put_comes_as_late_as_it_may(defect: str) -> None:
    outcome = emulate(Timing.LAZY, **{defect: "1"})
    assert set(outcome.exit_codes.values()) == {1}, outcome.findings
    assert "wrong at line" in outcome.stdout


def test_a_target_that_was_told_too_early_is_found() -> None:
    found = emulate(Timing.LAZY, FLUSHED_LOCALLY="1").findings
    (told,) = {one.message for one in found if one.kind == "mpi_buffer_in_use"}
    assert "which has not been completed, though its rank has gone on" in told


@pytest.mark.parametrize("timing", list(Timing))
def test_a_target_may_wait_for_a_put_by_looking(timing: Timing) -> None:
    outcome = emulate(timing, POLLED="1")
    assert outcome.findings == () and set(outcome.exit_codes.values()) == {0}, outcome.stdout


def test_a_deadlock_says_who_holds_the_lock() -> None:
    found = emulate(Timing.LAZY, NEVER_UNLOCKED="1").findings
    said = "rank 1: the host waits in MPI_Win_lock (the window of rank 0, and rank 0 holds it"
    assert found and all(said in one.message for one in found)


def test_a_deadlock_says_who_has_not_posted() -> None:
    (found,) = emulate(Timing.LAZY, NO_POST="1").findings
    assert "has not called MPI_Win_post" in found.message
