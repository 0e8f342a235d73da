"""Buffered sends do what MPI 3.1 says of them (3.6), and wrong uses are named with their lines."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run
from warploom.emulator.building.build_records import EmulatorBuild

PROGRAM = Path(__file__).with_name("programs") / "mpi_buffered.cu"
SCHEDULES = [RunSpec(seed=0, timing=Timing.LAZY), RunSpec(seed=1, timing=Timing.RANDOM)]
MISUSES = {
    "NONE": ("mpi_mismatch", "no buffer is attached"),
    "TWICE": ("mpi_mismatch", "a buffer is attached already"),
    "AGAIN": ("mpi_mismatch", "no buffer is attached"),
    "SMALL": ("mpi_mismatch", "the message needs 8128 bytes of the attached buffer"),
    "TOUCHED": ("mpi_buffer_in_use", "MPI_Buffer_attach"),
    "NEVER": ("deadlock", "MPI_Buffer_detach"),
}


@cache
def built(*macros: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAM, defines=dict.fromkeys(macros, "1")))


def emulate(spec: RunSpec, *macros: str) -> EmulatorRun:
    return run(built(*macros), RunOptions(ranks=2, run=spec))


@pytest.mark.parametrize("spec", SCHEDULES, ids=lambda s: s.timing)
def test_sends_return_before_anybody_receives(spec: RunSpec) -> None:
    done = emulate(spec)
    assert (done.state, done.stdout, done.findings) == ("finished", "", ())


@pytest.mark.parametrize("macro", MISUSES)
def test_a_wrong_use_is_named_with_its_line(macro: str) -> None:
    kind, words = MISUSES[macro]
    marked = {
        number
        for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if line.endswith("// EXPECT")
    }
    found = [f for f in emulate(SCHEDULES[0], macro).findings if f.severity is Severity.ERROR]
    assert any(f.kind == kind and words in f.message and f.line in marked for f in found), found
