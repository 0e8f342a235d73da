// CORPUS run=2,4
// Rank 0 collects a row of everybody's in any order and sends a token round; who has sent its row
// looks for the token now and then.
//
// DEFECT AHEAD assertion run=4: takes the receives that were posted first for those of the first ranks
// DEFECT PROBES mpi_mismatch: looks for the token a thousand times, and goes on without it
// DEFECT FREED mpi_buffer_in_use: the row is written again as soon as its request was freed
#include <cuda_runtime.h>
#include <mpi.h>

#include <cassert>
#include <cstdio>
#include <numeric>
#include <vector>

#define MUST(call) \
  if ((call) != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 1)

constexpr int kRow = 16;

__global__ void fill(int* row, int rank) { row[threadIdx.x] = rank * 100 + threadIdx.x; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MUST(cudaSetDevice(rank));
  int *device, row[kRow];
  MUST(cudaMalloc(&device, sizeof row));
  fill<<<1, kRow>>>(device, rank);
  MUST(cudaGetLastError());
  MUST(cudaMemcpy(row, device, sizeof row, cudaMemcpyDeviceToHost));
  MPI_Status status;
  MPI_Request request;

  // Everybody's row, in any order.
  if (rank == 0) {
    std::vector<int> rows((ranks - 1) * kRow);
    std::vector<MPI_Request> requests(ranks - 1);
    std::vector<MPI_Status> from(ranks - 1);
    for (int i = 0; i + 1 < ranks; ++i) {
      MPI_Irecv(&rows[i * kRow], kRow, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(ranks - 1, requests.data(), from.data());
    for (int i = 0; i + 1 < ranks; ++i) {
      const int source = from[i].MPI_SOURCE;
#ifdef DEFECT_AHEAD
      // EXPECT AHEAD
      assert(source == i + 1);
#endif
      for (int k = 0; k < kRow; ++k) wrong += rows[i * kRow + k] != source * 100 + k;
    }
    // EXPECT PROBES
    for (int to = 1; to < ranks; ++to) MPI_Send(&ranks, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
  } else {
    // EXPECT FREED
    MPI_Isend(row, kRow, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    int token = 0;
#ifndef DEFECT_FREED
    // Rank 0 has the row when it sends the token.
    int there = 0;
#ifdef DEFECT_PROBES
    for (int i = 0; i < 1000 && !there; ++i) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, &status);
    if (there) MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
#else
    while (!there) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, &status);
    MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
#endif
#endif
    // EXPECT FREED
    row[0] = -1;
#ifdef DEFECT_FREED
    MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
#endif
    wrong += token != ranks;
  }

  // Neighbors exchange what they found wrong.
  const int other = rank ^ 1;
  int theirs = -1;
  MPI_Isend(&wrong, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &request);
  MPI_Recv(&theirs, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, &status);
  MUST(cudaFree(device));
  MPI_Finalize();
  if (wrong + theirs) std::printf("rank %d: %d wrong\n", rank, wrong);
  return wrong + theirs != 0;
}
