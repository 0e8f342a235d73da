"""Modelled time of messages that are on their way at the same time: the links are the same ones."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>

constexpr int kWays = 4, kCount = 1 << 20, kPart = kCount / kWays, kParts = 64;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclComm_t comms[kWays];
  cudaStream_t streams[kWays];
  cudaEvent_t from, done[kWays], to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  for (int i = 0; i < kWays; i++) {
    ncclUniqueId id;
    if (rank == 0) ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclCommInitRank(&comms[i], ranks, id, rank);
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
  }
  float *in, *out;
  cudaMalloc(&in, kCount * sizeof(float));
  cudaMalloc(&out, kCount * sizeof(float));
  cudaMemset(in, 0, kCount * sizeof(float));
  cudaMemset(out, 0, kCount * sizeof(float));
  cudaDeviceSynchronize();
  for (int ways : {1, kWays}) {
    MPI_Barrier(MPI_COMM_WORLD);
    cudaEventRecord(from, streams[0]);
    for (int i = 0; i < ways; i++) {
      const int part = kCount / ways;
      if (i) cudaStreamWaitEvent(streams[i], from, 0);
      ncclAllReduce(in + i * part, out + i * part, part, ncclFloat, ncclSum, comms[i], streams[i]);
      cudaEventRecord(done[i], streams[i]);
    }
    for (int i = 1; i < ways; i++) cudaStreamWaitEvent(streams[0], done[i], 0);
    cudaEventRecord(to, streams[0]);
    cudaStreamSynchronize(streams[0]);
    float taken = 0;
    cudaEventElapsedTime(&taken, from, to);
    if (rank == 0) std::printf("%g ", taken * 1000);
  }
  for (int parts : {1, kParts}) {
    MPI_Request requests[2 * kParts];
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < parts; i++) {
      const int part = kCount / parts;
      MPI_Irecv(out + i * part, part, MPI_FLOAT, 1 - rank, i, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Isend(in + i * part, part, MPI_FLOAT, 1 - rank, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * parts, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) std::printf("%g ", (MPI_Wtime() - start) * 1e6);
  }
  for (int i = 0; i < kWays; i++) ncclCommDestroy(comms[i]);
  MPI_Finalize();
}
"""


def test_parts_of_a_message_are_no_faster_than_the_whole(tmp_path: Path):
    (tmp_path / "links.cu").write_text(PROGRAM)
    program = build(BuildSpec(tmp_path / "links.cu", timed=True))
    done = run(program, RunOptions(ranks=2, race=False, machine=find_topology("h200-8")))
    assert done.state == "finished", done.findings
    one, four, message, messages = map(float, done.stdout.split())
    assert four > 0.95 * one
    assert messages > 0.95 * message
