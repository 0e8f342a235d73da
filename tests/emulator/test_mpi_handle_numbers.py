"""MPI's handles are numbers that no other kind of handle has, and that a program does not guess.

Implementations agree on none: a number in place of a handle is an error wherever it compiles.
"""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_PROGRAM = """
#include <mpi.h>
#include <cuda_runtime.h>
#include <cstdio>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cudaFree(nullptr);
  int rank, mine = 1, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine += rank;
  STATEMENT;  // HERE
  MPI_Finalize();
  std::printf("%d\\n", all);
}
"""
NUMBERS = {
    "type": "MPI_Bcast(&mine, 1, 7, 0, MPI_COMM_WORLD)",
    "communicator": "MPI_Bcast(&mine, 1, MPI_INT, 0, 1)",
    "communicator_of_other_libraries": "MPI_Barrier(0x44000000)",
    "operation": "MPI_Allreduce(&mine, &all, 1, MPI_INT, 3, MPI_COMM_WORLD)",
    "swapped_type_and_communicator": "MPI_Bcast(&mine, 1, MPI_COMM_WORLD, 0, MPI_INT)",
    "swapped_type_and_operation": "MPI_Reduce(&mine, &all, 4, MPI_MAX, MPI_CHAR, 0,"
    " MPI_COMM_WORLD)",
    "operation_of_nobody": "MPI_Allreduce(&mine, &all, 1, MPI_INT, 32, MPI_COMM_WORLD)",
    "type_of_nobody": "MPI_Bcast(&mine, 1, MPI_INT + 100, 0, MPI_COMM_WORLD)",
    "group": "MPI_Comm made; MPI_Comm_create(MPI_COMM_WORLD, 1, &made)",
    "window": "MPI_Win_fence(0, 1)",
    "info": 'MPI_Info_set(1, "a", "b")',
    "negative": "MPI_Bcast(&mine, 1, -1, 0, MPI_COMM_WORLD)",
}
RIGHT = {
    "fortran": "MPI_Fint f = MPI_Comm_c2f(MPI_COMM_WORLD), i = MPI_Type_c2f(MPI_INT);"
    " MPI_Allreduce(&mine, &all, 1, MPI_Type_f2c(i), MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)),"
    " MPI_Comm_f2c(f))",
    "kept_in_ints": "int comm = MPI_COMM_WORLD, type = MPI_INT, op = MPI_SUM;"
    " MPI_Allreduce(&mine, &all, 1, type, op, comm)",
    "chosen": "MPI_Datatype type = MPI_INT; int bytes = 0; switch (type) { case MPI_INT: bytes = 4;"
    " break; case MPI_DOUBLE: bytes = 8; break; default: break; }"
    " MPI_Allreduce(&mine, &all, bytes / 4, type, MPI_SUM, MPI_COMM_WORLD)",
    "made": "MPI_Comm comm = 0; MPI_Group group; MPI_Comm_group(MPI_COMM_WORLD, &group);"
    " MPI_Comm_create(MPI_COMM_WORLD, group, &comm); MPI_Group_free(&group);"
    " MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm); MPI_Comm_free(&comm)",
}


def _check(folder: Path, statement: str, ranks: int = 2):
    program = folder / "handles.cu"
    program.write_text(_PROGRAM.replace("STATEMENT", statement))
    return check(program, ranks=ranks, effort=Effort.QUICK)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_in_place_of_a_handle_is_found(tmp_path: Path, name: str) -> None:
    report = _check(tmp_path, NUMBERS[name])
    assert report.verdict is Verdict.DEFECT
    found = [f.finding for f in report.findings if f.finding.kind == "mpi_mismatch"]
    assert found and found[0].line == 11


@pytest.mark.parametrize("name", RIGHT)
def test_handles_that_pass_through_numbers_are_right(tmp_path: Path, name: str) -> None:
    report = _check(tmp_path, RIGHT[name])
    assert report.verdict is Verdict.OK
    assert not [f for f in report.findings if f.finding.kind == "mpi_mismatch"]
