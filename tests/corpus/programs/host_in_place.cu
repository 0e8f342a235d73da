// CORPUS run=2,4
// Collectives in place, the way NCCL allows it, an average, and a scaled sum on doubles.
//
// DEFECT WRONG_BLOCK overlapping_buffers: in place, a rank's own block sits at its own offset
#include "harness.h"

#include <cmath>

constexpr int kCount = 24;

__global__ void fill(double* data, int rank) {
  int i = threadIdx.x;
  data[i] = 0.25 * value(rank, 0, i, 0);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  double *sums, *blocks;
  CHECK(cudaMalloc(&sums, kCount * sizeof(double)));
  CHECK(cudaMalloc(&blocks, job.ranks * kCount * sizeof(double)));
  double* own = blocks + job.rank * kCount;
#if defined(DEFECT_WRONG_BLOCK)
  own = blocks + (job.rank + 1) % job.ranks * kCount;
#endif

  fill<<<1, kCount, 0, job.stream>>>(sums, job.rank);
  fill<<<1, kCount, 0, job.stream>>>(own, job.rank);
  CHECK(cudaGetLastError());
  CHECK(ncclAllReduce(sums, sums, kCount, ncclDouble, ncclAvg, job.comm, job.stream));
  // EXPECT WRONG_BLOCK
  CHECK(ncclAllGather(own, blocks, kCount, ncclDouble, job.comm, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));

  std::vector<double> got(kCount), all(job.ranks * kCount);
  CHECK(cudaMemcpy(got.data(), sums, kCount * sizeof(double), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(all.data(), blocks, all.size() * sizeof(double), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < kCount; ++i) {
    double mean = 0;
    for (int r = 0; r < job.ranks; ++r) mean += 0.25 * value(r, 0, i, 0) / job.ranks;
    good = good && std::fabs(got[i] - mean) <= 1e-12 * std::fabs(mean);
  }
  for (int i = 0; i < job.ranks * kCount; ++i) {
    good = good && all[i] == 0.25 * value(i / kCount, 0, i % kCount, 0);
  }

  CHECK(cudaFree(sums));
  CHECK(cudaFree(blocks));
  return finish(job, good);
}
