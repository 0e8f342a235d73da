"""MPI files: modes, views and errors as MPI says, and the rules that messages have for memory."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import EmulatorRun, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "mpi_files.cu"


def emulate(timing: Timing = Timing.LAZY, ranks: int = 2, **defines: str) -> EmulatorRun:
    built = build(BuildSpec(PROGRAM, defines=defines))
    return run(built, RunOptions(ranks=ranks, run=RunSpec(0, timing)))


@pytest.mark.parametrize("timing", list(Timing))
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_files_are_shared_by_all_ranks(timing: Timing, ranks: int) -> None:
    outcome = emulate(timing, ranks)
    assert outcome.findings == (), outcome.stdout
    assert outcome.exit_codes == dict.fromkeys(range(ranks), 0), outcome.stdout


@pytest.mark.parametrize(
    ("defect", "kind", "said"),
    [
        ("EARLY_WRITE", "readback_before_sync", "write by kernel fill"),
        ("NOT_ALL", "mpi_mismatch", "MPI_File_write_at_all"),
        ("UNSYNCED", "data_race", "no MPI_File_sync parts the two"),
        ("OVERLAP", "data_race", "writes bytes of 'data.bin' that MPI_File_write_at_all"),
        ("FATAL", "mpi_mismatch", "MPI_File_write of 'data.bin' fails"),
    ],
)
def test_what_is_wrong_is_found(defect: str, kind: str, said: str) -> None:
    found = [one for one in emulate(**{defect: "1"}).findings if one.kind == kind]
    assert found and said in found[0].message


def test_views_with_gaps_are_refused_by_name() -> None:
    (use, *_) = emulate(GAPS="1").unsupported
    assert use.name == "MPI_File_set_view" and "gaps" in use.message
