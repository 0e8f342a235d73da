// Long loops over memory that nobody else changes: they wait for nobody, and no loop hangs.
#include "expect.h"

constexpr int kRounds = 6 << 20;

__global__ void count(int* bins, int rounds) {
  for (int i = 0; i < rounds; i++) {
    atomicAdd(&bins[i % 5], 1);
    atomicMax(&bins[5 + i % 2], i);
  }
}
__global__ void sum(const volatile int* data, int n, int* partial) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    total += data[i];
    partial[i % 64] = total;
  }
}

int main(int argc, char**) {
  int *bins, *host;
  CUDA(cudaMalloc(&bins, 64 * sizeof(int)));
  CUDA(cudaMemset(bins, 0, 64 * sizeof(int)));
  count<<<1, 1>>>(bins, kRounds);
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMallocHost(&host, 64 * sizeof(int)));
  for (int i = 0; i < 64; i++) host[i] = 0;
  for (int i = 0; i < kRounds; i++) {
    __sync_fetch_and_add(&host[i % 3], 1);
    __sync_fetch_and_or(&host[3 + i % 2], i);
  }
  int* data;
  CUDA(cudaMalloc(&data, kRounds * sizeof(int)));
  CUDA(cudaMemset(data, argc, kRounds * sizeof(int)));
  sum<<<1, 1>>>(data, kRounds, bins);
  CUDA(cudaDeviceSynchronize());
  EXPECT(host[0] == kRounds / 3);
  return failures != 0;
}
