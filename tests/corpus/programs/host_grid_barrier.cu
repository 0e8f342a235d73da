// CORPUS run=2
// A grid-wide barrier from atomics: correct as long as all CTAs are resident at the same time,
// which the occupancy calculator tells.
//
// DEFECT ONE_CTA_MORE not_resident: the last CTA starts only when another ends, and none can
// DEFECT EARLY_EXIT deadlock: one CTA leaves without arriving
// DEFECT NO_FENCE data_race: the arrival does not publish what the CTA wrote
// DEFECT NO_READER_FENCE data_race: what the others wrote is read right behind the polling
#include "harness.h"

constexpr int kThreads = 32, kShared = 160 * 1024;

struct Grid {
  unsigned arrived;
};

// Each CTA writes one value; after the barrier each reads its neighbor's.
__global__ void shift(Grid* grid, int* values, int* out) {
  extern __shared__ char ballast[];  // large, so that few CTAs fit on a multiprocessor
  ballast[threadIdx.x] = static_cast<char>(threadIdx.x);
#if defined(DEFECT_EARLY_EXIT)
  if (blockIdx.x == 1) return;
#endif
  if (threadIdx.x == 0) {
    // EXPECT NO_FENCE NO_READER_FENCE
    values[blockIdx.x] = static_cast<int>(blockIdx.x) * 3 + ballast[0];
#if !defined(DEFECT_NO_FENCE)
    __threadfence();
#endif
    atomicAdd(&grid->arrived, 1u);
    // EXPECT ONE_CTA_MORE EARLY_EXIT
    while (atomicAdd(&grid->arrived, 0u) < gridDim.x) {
    }
#if !defined(DEFECT_NO_FENCE) && !defined(DEFECT_NO_READER_FENCE)
    __threadfence();
#endif
    // EXPECT NO_FENCE NO_READER_FENCE
    out[blockIdx.x] = values[(blockIdx.x + 1) % gridDim.x];
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  int per_multiprocessor = 0, multiprocessors = 0;
  CHECK(cudaFuncSetAttribute(shift, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, shift, kThreads, kShared));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  int ctas = per_multiprocessor * multiprocessors;
#if defined(DEFECT_ONE_CTA_MORE)
  ctas += 1;
#endif
  Grid* grid;
  int *values, *out;
  CHECK(cudaMalloc(&grid, sizeof(Grid)));
  CHECK(cudaMalloc(&values, ctas * sizeof(int)));
  CHECK(cudaMalloc(&out, ctas * sizeof(int)));
  CHECK(cudaMemset(grid, 0, sizeof(Grid)));

  // EXPECT ONE_CTA_MORE
  shift<<<ctas, kThreads, kShared, job.stream>>>(grid, values, out);
  CHECK(cudaGetLastError());
  CHECK(ncclAllReduce(out, out, ctas, ncclInt32, ncclSum, job.comm, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(ctas);
  CHECK(cudaMemcpy(got.data(), out, ctas * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < ctas; ++i) good = good && got[i] == (i + 1) % ctas * 3 * job.ranks;

  CHECK(cudaFree(grid));
  CHECK(cudaFree(values));
  CHECK(cudaFree(out));
  return finish(job, good);
}
