"""Modelled time of a host that computes: what it costs grows with the work, and no faster."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void touch(float* p) { p[threadIdx.x] += 1.0f; }
int main(int argc, char** argv) {
  const int rounds = std::atoi(argv[1]);
  float* device = nullptr;
  cudaMalloc(&device, 32 * sizeof(float));
  cudaMemset(device, 0, 32 * sizeof(float));
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> values(1 << 16, 1.0f);
  cudaEventRecord(begin);
  touch<<<1, 32>>>(device);
  float sum = 0;
  for (int round = 0; round < rounds; round++) {
    for (const float value : values) sum += value;  // reads alone, as a loop that waits makes them
  }
  touch<<<1, 32>>>(device);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0;
  cudaEventElapsedTime(&ms, begin, end);
  std::printf("%.6f %g\\n", ms, sum);
}
"""


def test_a_long_computation_is_no_wait(tmp_path: Path):
    (tmp_path / "host.cu").write_text(PROGRAM)
    program = build(BuildSpec(tmp_path / "host.cu", timed=True))
    times: list[float] = []
    for rounds in (50, 200, 800):
        options = RunOptions(
            ranks=1, args=(str(rounds),), race=False, machine=find_topology("h200-8")
        )
        done = run(program, options)
        assert done.state == "finished", done.findings
        times.append(float(done.stdout.split()[0]))
    small, middle, large = times
    assert 3 < middle / small < 5 and 3 < large / middle < 5, times
    # A core adds a few numbers in a nanosecond: 52 million of them take tens of milliseconds.
    assert 5 < large < 200, times


CAPTURED = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  float* data;
  cudaMalloc(&data, 2 * 64 * sizeof(float));
  cudaMemset(data, 0, 2 * 64 * sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaDeviceSynchronize();
  const int how = atoi(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int turn = 0; turn < 8; ++turn) {
    if (how == 1) cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int n = 0; n < 3; ++n) {
      if (how == 2) {
        MPI_Alltoall(data, 32, MPI_FLOAT, data + 64, 32, MPI_FLOAT, MPI_COMM_WORLD);
      } else {
        ncclAllReduce(data, data + 64, 64, ncclFloat, ncclSum, comm, stream);
      }
    }
    if (how == 1) {
      cudaGraph_t graph;
      cudaGraphExec_t replay;
      cudaStreamEndCapture(stream, &graph);
      cudaGraphInstantiate(&replay, graph, 0);
      cudaGraphLaunch(replay, stream);
      cudaGraphExecDestroy(replay);
      cudaGraphDestroy(graph);
    }
    cudaStreamSynchronize(stream);
  }
  if (rank == 0) printf("%.6f\\n", 1e3 * (MPI_Wtime() - begin));
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
"""


def test_neither_captures_nor_mpi_on_devices_are_free(tmp_path: Path):
    """A graph that is made for each turn plans anew; MPI comes to a device's memory by copies."""
    (tmp_path / "graph.cu").write_text(CAPTURED)
    program = build(BuildSpec(tmp_path / "graph.cu", timed=True))
    times: list[float] = []
    for how in ("0", "1", "2"):
        options = RunOptions(ranks=2, args=(how,), race=False, machine=find_topology("h200-8"))
        done = run(program, options)
        assert done.state == "finished", done.findings
        times.append(float(done.stdout.split()[0]))
    plain, captured, by_mpi = times
    assert captured > plain, times
    assert by_mpi > 8 * 3 * 0.009, times  # two copies a call, of 4.5 us each
