// CORPUS run=2,4
// A gradient's buffer is registered with the communicator for as long as it lives.
//
// DEFECT FREED_FIRST use_after_free: the memory is freed while it is registered
#include "harness.h"

__global__ void make(float* values, int rank) { values[threadIdx.x] = static_cast<float>(threadIdx.x % 5 + rank); }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int kValues = 128;
  float* values;
  void* registration;
  CHECK(ncclMemAlloc(reinterpret_cast<void**>(&values), kValues * sizeof(float)));
  CHECK(ncclCommRegister(job.comm, values, kValues * sizeof(float), &registration));
  make<<<1, kValues, 0, job.stream>>>(values, job.rank);
  CHECK(cudaGetLastError());
  CHECK(ncclAllReduce(values, values, kValues, ncclFloat, ncclSum, job.comm, job.stream));
  std::vector<float> sums(kValues);
  CHECK(cudaMemcpyAsync(sums.data(), values, kValues * sizeof(float), cudaMemcpyDeviceToHost, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  bool good = true;
  const int ranks = job.ranks;
  for (int i = 0; i < kValues; ++i) good = good && sums[i] == ranks * (i % 5) + ranks * (ranks - 1) / 2;
#ifdef DEFECT_FREED_FIRST
  CHECK(ncclMemFree(values));
#endif
  // EXPECT FREED_FIRST
  CHECK(ncclCommDeregister(job.comm, registration));
#ifndef DEFECT_FREED_FIRST
  CHECK(ncclMemFree(values));
#endif
  return finish(job, good);
}
