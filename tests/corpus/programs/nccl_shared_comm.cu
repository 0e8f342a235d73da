// CORPUS run=2,4
// A helper thread reduces the loss while the main thread prepares; then the main thread reduces the
// gradients with the same communicator, on a stream of its own.
//
// DEFECT NO_JOIN collective_mismatch: both threads call NCCL with one communicator at a time
#include <thread>

#include "harness.h"

constexpr int kGradients = 64;

__global__ void prepare(float* gradients, float* loss, int rank) {
  gradients[threadIdx.x] = static_cast<float>(threadIdx.x % 5 + rank);
  if (threadIdx.x == 0) *loss = static_cast<float>(rank + 1);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  float *gradients, *loss;
  CHECK(cudaMalloc(&gradients, kGradients * sizeof(float)));
  CHECK(cudaMalloc(&loss, sizeof(float)));
  cudaStream_t side;
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  prepare<<<1, kGradients, 0, job.stream>>>(gradients, loss, job.rank);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  int device;
  CHECK(cudaGetDevice(&device));

  std::thread helper([&] {
    CHECK(cudaSetDevice(device));
    // EXPECT NO_JOIN
    CHECK(ncclAllReduce(loss, loss, 1, ncclFloat, ncclSum, job.comm, side));
  });
#ifndef DEFECT_NO_JOIN
  helper.join();
#endif
  // EXPECT NO_JOIN
  CHECK(ncclAllReduce(gradients, gradients, kGradients, ncclFloat, ncclSum, job.comm, job.stream));
#ifdef DEFECT_NO_JOIN
  helper.join();
#endif
  CHECK(cudaDeviceSynchronize());
  float sums[kGradients], whole;
  CHECK(cudaMemcpy(sums, gradients, sizeof(sums), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&whole, loss, sizeof(whole), cudaMemcpyDeviceToHost));
  const int ranks = job.ranks;
  bool good = whole == ranks * (ranks + 1) / 2;
  for (int i = 0; i < kGradients; ++i) {
    good = good && sums[i] == ranks * (i % 5) + ranks * (ranks - 1) / 2;
  }
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaFree(gradients));
  CHECK(cudaFree(loss));
  return finish(job, good);
}
