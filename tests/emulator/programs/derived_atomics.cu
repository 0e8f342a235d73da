// Read-modify-writes of memory that other threads change too: who makes one waits for nobody.
#include "expect.h"

constexpr int kBlocks = 32, kThreads = 256;

__global__ void add_by_swap(unsigned* sum) {
  unsigned seen = __nv_atomic_load_n(sum, __NV_ATOMIC_RELAXED), expected;
  do {
    expected = seen;
    seen = atomicCAS(sum, expected, expected + threadIdx.x);
  } while (seen != expected);
}
__global__ void add_in_parts(unsigned* sums) {
  for (unsigned i = 0; i < 16; i++) {
    atomicAdd(&sums[threadIdx.x], i % 2);
    atomicAdd(&sums[kThreads], 1u);
    atomicAdd(&sums[kThreads], 1u);
  }
}

int main() {
  unsigned *sums, host[kThreads + 1];
  CUDA(cudaMalloc(&sums, sizeof host));
  CUDA(cudaMemset(sums, 0, sizeof host));
  add_by_swap<<<kBlocks, kThreads>>>(sums);
  CUDA(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == kBlocks * (kThreads - 1) * kThreads / 2);
  add_in_parts<<<kBlocks, kThreads>>>(sums);
  CUDA(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[1] == kBlocks * 8);
  EXPECT(host[kThreads] == kBlocks * kThreads * 32);
  return failures != 0;
}
