"""`cudaChooseDevice`: all devices are alike, so that each process gets its first one."""

from pathlib import Path

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, device = 9;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaDeviceProp wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.major = 8;
  if (cudaSetDevice(rank) != cudaSuccess) return 2;
"""
_TAIL = """
  MPI_Finalize();
}
"""
_ANSWERS = """
  if (cudaChooseDevice(&device, &wanted) != cudaSuccess || device != 0) return 3;
  int current = -1;
  cudaGetDevice(&current);
  if (current != rank) return 4;
  if (cudaChooseDevice(nullptr, &wanted) != cudaErrorInvalidValue) return 5;
  if (cudaChooseDevice(&device, nullptr) != cudaErrorInvalidValue) return 6;
  if (cudaGetLastError() != cudaErrorInvalidValue) return 7;
  cudaDeviceProp found;
  cudaGetDeviceProperties(&found, device);
  if (found.major < wanted.major) return 8;
"""
_ALL_TAKE_IT = """
  cudaChooseDevice(&device, &wanted);
  cudaSetDevice(device);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  if (ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess) ncclCommDestroy(comm);
"""


def _check(folder: Path, body: str):
    program = folder / "chooses.cu"
    program.write_text(_HEAD + body + _TAIL)
    return check(program, ranks=2, effort=Effort.QUICK)


def test_it_answers_the_first_device_and_changes_nothing(tmp_path: Path) -> None:
    report = _check(tmp_path, _ANSWERS)
    assert report.verdict is Verdict.OK


def test_ranks_that_all_take_its_answer_share_a_device(tmp_path: Path) -> None:
    report = _check(tmp_path, _ALL_TAKE_IT)
    assert "duplicate_device" in {f.finding.kind for f in report.findings}
