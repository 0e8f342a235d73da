// CORPUS run=2,4
// Each rank adds the counts of its kernel to a histogram of rank 0, and then its largest one, by
// one-sided calls.
//
// DEFECT NO_FENCE mpi_mismatch: sums and maxima of one place in one epoch
// DEFECT OTHER_TYPE mpi_mismatch: rank 1 adds floating-point numbers to what the others count
#include "harness.h"

constexpr int kBins = 8;

__global__ void count(int* bins, int rank) { atomicAdd(&bins[(threadIdx.x + rank) % kBins], 1); }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  int *bins, *total;
  CHECK(cudaMalloc(&bins, kBins * sizeof(int)));
  CHECK(cudaMemset(bins, 0, kBins * sizeof(int)));
  count<<<1, 64>>>(bins, job.rank);
  CHECK(cudaGetLastError());
  int mine[kBins];
  CHECK(cudaMemcpy(mine, bins, sizeof(mine), cudaMemcpyDeviceToHost));
  bool good = mine[0] == 64 / kBins;
  MPI_Win window;
  CHECK(MPI_Win_allocate(kBins * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &total, &window));
  for (int i = 0; i < kBins; ++i) total[i] = 0;
  CHECK(MPI_Win_fence(0, window));
#ifdef DEFECT_OTHER_TYPE
  float shares[kBins];
  for (int i = 0; i < kBins; ++i) shares[i] = static_cast<float>(mine[i]);
  if (job.rank == 1) {
    // EXPECT OTHER_TYPE
    CHECK(MPI_Accumulate(shares, kBins, MPI_FLOAT, 0, 0, kBins, MPI_FLOAT, MPI_SUM, window));
  } else
#endif
  {
    // EXPECT OTHER_TYPE NO_FENCE
    CHECK(MPI_Accumulate(mine, kBins, MPI_INT, 0, 0, kBins, MPI_INT, MPI_SUM, window));
  }
#ifndef DEFECT_NO_FENCE
  CHECK(MPI_Win_fence(0, window));
#endif
  const int most = 100 + job.rank;
  // EXPECT NO_FENCE
  CHECK(MPI_Accumulate(&most, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MAX, window));
  CHECK(MPI_Win_fence(0, window));
#ifndef DEFECT_OTHER_TYPE
  if (job.rank == 0) {
    for (int i = 1; i < kBins; ++i) good = good && total[i] == job.ranks * 64 / kBins;
  }
#endif
  CHECK(MPI_Win_free(&window));
  CHECK(cudaFree(bins));
  return finish(job, good);
}
