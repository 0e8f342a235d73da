"""Freeing what the call did not allocate: it frees nothing, and its status is rarely looked at."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

_TEXT = """
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdlib>
int main() {
  char *device, *pinned, *managed, *window, heap[64];
  void* pooled;
  cudaMalloc(&device, 256);
  cudaMallocHost(&pinned, 256);
  cudaMallocManaged(&managed, 256);
  ncclMemAlloc((void**)&window, 4096);
  cudaMallocAsync(&pooled, 256, 0);
  STATEMENT;
  cudaFree(device);
  cudaFreeHost(pinned);
  cudaFree(managed);
  ncclMemFree(window);
  cudaFreeAsync(pooled, 0);
  cudaDeviceSynchronize();
  (void)heap;
}
"""

WRONG = [
    "cudaFree(device + 16)",
    "cudaFreeHost(pinned + 16)",
    "cudaFree(managed + 1)",
    "cudaFreeAsync((char*)pooled + 8, 0)",
    "ncclMemFree(window + 64)",
    "cudaFree(pinned)",
    "cudaFree(window)",
    "cudaFreeHost(device)",
    "cudaFreeHost(managed)",
    "cudaFree(heap)",
    "cudaFreeHost(heap)",
]
GONE = [
    "cudaDeviceReset(); cudaMemset(device, 0, 256)",
    "cudaThreadExit(); cudaMemset(device, 0, 8)",
]
RIGHT = ["cudaFree(nullptr)", "cudaFreeHost(nullptr)", "cudaFree(0)", "(void)device"]


@pytest.mark.parametrize("statement", WRONG)
def test_what_is_not_the_calls_to_free(tmp_path: Path, statement: str) -> None:
    report = check_program(tmp_path, _TEXT.replace("STATEMENT", statement))
    assert kinds_of(report) == {"invalid_free"}


@pytest.mark.parametrize("statement", GONE)
def test_a_reset_device_holds_nothing(tmp_path: Path, statement: str) -> None:
    report = check_program(tmp_path, _TEXT.replace("STATEMENT", f"{statement}; return 0"))
    assert "use_after_free" in kinds_of(report)


def test_a_device_is_reset_at_the_end(tmp_path: Path) -> None:
    text = _TEXT.replace("STATEMENT;", "").replace("(void)heap", "cudaDeviceReset()")
    assert kinds_of(check_program(tmp_path, text)) == set()


@pytest.mark.parametrize("statement", RIGHT)
def test_each_by_its_own(tmp_path: Path, statement: str) -> None:
    report = check_program(tmp_path, _TEXT.replace("STATEMENT", statement))
    assert kinds_of(report) == set()


_MPI = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> send(100, rank), receive(100 * ranks);
  int* freed = new int[1000];
  cudaFree(nullptr);
  if (rank == FREES) delete[] freed;
  CALL;
  if (rank != FREES) delete[] freed;
  MPI_Finalize();
}
"""
_GATHER = "MPI_Gather({}, 100, MPI_INT, {}, 100, MPI_INT, 0, MPI_COMM_WORLD)"


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        (_GATHER.format("send.data()", "freed"), {"use_after_free"}),
        (_GATHER.format("freed", "receive.data()"), {"use_after_free"}),
        ("MPI_Bcast(freed + 900, 100, MPI_INT, 0, MPI_COMM_WORLD)", {"use_after_free"}),
        ("MPI_Bcast(send.data(), 10000000, MPI_INT, 0, MPI_COMM_WORLD)", {"out_of_bounds"}),
        (_GATHER.format("send.data()", "receive.data()"), set()),
        ("MPI_Bcast(receive.data() + 50, 50, MPI_INT, 0, MPI_COMM_WORLD)", set()),
    ],
)
def test_host_memory_that_mpi_gets_must_live(tmp_path: Path, call: str, kinds: set[str]) -> None:
    text = _MPI.replace("FREES", "0").replace("CALL", call)
    assert kinds_of(check_program(tmp_path, text)) == kinds
