"""Modelled time of communicators that a program makes while it works."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

__global__ void touch(float* p) { p[threadIdx.x] += 1.0f; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm, made[8];
  ncclCommInitRank(&comm, ranks, id, rank);
  float* p;
  cudaMalloc(&p, 32 * sizeof(float));
  void* shared;
  ncclMemAlloc(&shared, 4096);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  const int times = std::atoi(argv[1]);
  BEFORE
  cudaEventRecord(start);
  touch<<<1, 32>>>(p);
  BESIDE
  touch<<<1, 32>>>(p);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float ms = 0;
  cudaEventElapsedTime(&ms, start, stop);
  if (rank == 0) std::printf("%.6f\\n", ms);
  for (int i = 0; i < times; i++) {
    if (made[i]) ncclCommDestroy(made[i]);
  }
  ncclMemFree(shared);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFree(p);
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""
EACH = "for (int i = 0; i < times; i++) "
CALLS = {
    "split": EACH + "ncclCommSplit(comm, rank / 2, rank, &made[i], nullptr);",
    "window": EACH + "{\n    ncclWindow_t window;\n"
    "    ncclCommWindowRegister(comm, shared, 4096, &window, NCCL_WIN_COLL_SYMMETRIC);\n"
    "    ncclCommWindowDeregister(comm, window);\n    made[i] = nullptr;\n  }",
    "init": EACH + "{\n    if (rank == 0) ncclGetUniqueId(&id);\n"
    "    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);\n"
    "    ncclCommInitRank(&made[i], ranks, id, rank);\n  }",
}


def microseconds(folder: Path, text: str, times: int) -> float:
    (folder / "made.cu").write_text(text)
    program = build(BuildSpec(folder / "made.cu", timed=True))
    machine = find_topology("h200-8")
    done = run(program, RunOptions(ranks=4, args=(str(times),), race=False, machine=machine))
    assert done.state == "finished", done.findings
    return 1000 * float(done.stdout.split()[0])


@pytest.mark.parametrize("call", ["split", "init"])
def test_each_costs_what_a_meeting_of_all_ranks_does(tmp_path: Path, call: str) -> None:
    text = PROGRAM.replace("BEFORE", "").replace("BESIDE", CALLS[call])
    none, two, eight = (microseconds(tmp_path, text, times) for times in (0, 2, 8))
    assert two > none + 4
    assert eight - none == pytest.approx(4 * (two - none), rel=0.2)


def test_a_window_is_no_free_barrier(tmp_path: Path) -> None:
    text = PROGRAM.replace("BEFORE", "").replace("BESIDE", CALLS["window"])
    none, eight = (microseconds(tmp_path, text, times) for times in (0, 8))
    barriers = "for (int i = 0; i < times; i++) made[i] = nullptr, MPI_Barrier(MPI_COMM_WORLD);"
    text = PROGRAM.replace("BEFORE", "").replace("BESIDE", barriers)
    assert eight - none > microseconds(tmp_path, text, 8) - none > 1


def test_windows_that_are_set_up_late_cost_nothing(tmp_path: Path) -> None:
    """Each of memory of its own: that a layer makes them when it runs first is no barrier."""
    calls = (
        EACH + "{\n    ncclWindow_t window;\n    void* own;\n    ncclMemAlloc(&own, 4096);\n"
        "    ncclCommWindowRegister(comm, own, 4096, &window, NCCL_WIN_COLL_SYMMETRIC);\n"
        "    made[i] = nullptr;\n  }"
    )
    text = PROGRAM.replace("BEFORE", "").replace("BESIDE", calls)
    none, eight = (microseconds(tmp_path, text, times) for times in (0, 8))
    assert eight == pytest.approx(none, abs=1)


def test_one_that_is_made_before_the_work_costs_nothing(tmp_path: Path) -> None:
    text = PROGRAM.replace("BEFORE", CALLS["split"]).replace("BESIDE", "")
    assert microseconds(tmp_path, text, 8) == pytest.approx(microseconds(tmp_path, text, 0))
