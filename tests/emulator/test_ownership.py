"""Buffers of started MPI calls belong to MPI; the value of a lane that gave none is undefined."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Severity
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")


def emulate(name: str, ranks: int, **defines: str) -> EmulatorRun:
    return run(build(BuildSpec(PROGRAMS / name, defines=defines)), RunOptions(ranks=ranks))


@pytest.mark.parametrize("form", range(9))
def test_a_lane_that_gave_no_value(form: int) -> None:
    outcome = emulate("absent_lanes.cu", 1, FORM=str(form))
    assert outcome.state == "finished" and outcome.findings == ()
    assert len(outcome.fresh_reads) == (1 if form < 4 or form == 7 else 0)
    if form == 5:  # those that have ended take no part
        assert outcome.stdout.split() == ["-1"] * 20


@pytest.mark.parametrize(
    "use", ["SEND", "RECEIVE_READ", "RECEIVE_WRITE", "DEVICE", "DEVICE_READ", "REDUCE", "GAP_HIT"]
)
def test_a_buffer_in_use_is_touched(use: str) -> None:
    outcome = emulate("mpi_buffers.cu", 2, **{use: "1"})
    kinds = {found.kind for found in outcome.findings if found.severity == Severity.ERROR}
    assert kinds == {"mpi_buffer_in_use"}, outcome.findings


def test_buffers_are_free_once_complete() -> None:
    outcome = emulate("mpi_buffers.cu", 2)
    assert outcome.findings == () and outcome.exit_codes == {0: 0, 1: 0}
