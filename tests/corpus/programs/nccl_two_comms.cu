// CORPUS run=2,4
// Data and expert parallelism: two communicators of the same ranks, each with a stream of its own. All
// ranks reduce the gradients first, and the router's load behind them.
//
// DEFECT TURNED collective_mismatch: odd ranks issue the two collectives the other way round
#include "harness.h"

constexpr int kGradients = 96, kExperts = 8;

__global__ void make(float* gradients, float* load, int rank) {
  gradients[threadIdx.x] = static_cast<float>(threadIdx.x % 7 * (rank + 1));
  if (threadIdx.x < kExperts) load[threadIdx.x] = static_cast<float>(threadIdx.x + rank);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  ncclComm_t experts;
  CHECK(ncclCommSplit(job.comm, 0, job.rank, &experts, nullptr));
  cudaStream_t side;
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  float *gradients, *load;
  CHECK(cudaMalloc(&gradients, kGradients * sizeof(float)));
  CHECK(cudaMalloc(&load, kExperts * sizeof(float)));
  make<<<1, kGradients, 0, job.stream>>>(gradients, load, job.rank);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));

  const auto reduce_gradients = [&] {
    // EXPECT TURNED
    CHECK(ncclAllReduce(gradients, gradients, kGradients, ncclFloat, ncclSum, job.comm, job.stream));
  };
  const auto reduce_load = [&] {
    // EXPECT TURNED
    CHECK(ncclAllReduce(load, load, kExperts, ncclFloat, ncclMax, experts, side));
  };
#ifdef DEFECT_TURNED
  if (job.rank % 2) {
    reduce_load();
    reduce_gradients();
  } else
#endif
  {
    reduce_gradients();
    reduce_load();
  }
  CHECK(cudaDeviceSynchronize());
  float sums[kGradients], most[kExperts];
  CHECK(cudaMemcpy(sums, gradients, sizeof(sums), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(most, load, sizeof(most), cudaMemcpyDeviceToHost));
  const int ranks = job.ranks;
  bool good = true;
  for (int i = 0; i < kGradients; ++i) good = good && sums[i] == i % 7 * ranks * (ranks + 1) / 2;
  for (int i = 0; i < kExperts; ++i) good = good && most[i] == i + ranks - 1;
  CHECK(ncclCommDestroy(experts));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaFree(gradients));
  CHECK(cudaFree(load));
  return finish(job, good);
}
