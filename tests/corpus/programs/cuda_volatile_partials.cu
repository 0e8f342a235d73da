// CORPUS run=1
// The last block to arrive adds up what all blocks have left in volatile memory, and publishes the
// sum to a block that waits for it.
//
// DEFECT NO_ARRIVAL_FENCE stale_read: nothing keeps a block's part before its arrival
// DEFECT NO_RESULT_FENCE stale_read: nothing keeps the sum before the word that announces it
// DEFECT FENCE_BEHIND stale_read: the fence comes behind the word that announces the sum
#include <cuda_runtime.h>

#include <cstdio>
#include <numeric>
#include <vector>

constexpr unsigned kWorkers = 6, kThreads = 32;

struct Board {
  unsigned arrived, ready;
  double total;
  double parts[kWorkers];
};

__device__ void add_up(volatile Board* board) {
  double total = 0;
  for (unsigned i = 0; i < kWorkers; ++i) {
    // EXPECT NO_ARRIVAL_FENCE
    total += board->parts[i];
  }
  board->total = total;
#if !defined(DEFECT_NO_RESULT_FENCE) && !defined(DEFECT_FENCE_BEHIND)
  __threadfence();
#endif
  board->ready = 1;
#if defined(DEFECT_FENCE_BEHIND)
  __threadfence();
#endif
}

__global__ void sum(const double* in, unsigned n, Board* board, double* out) {
  __shared__ double values[kThreads];
  volatile Board* shared = board;
  if (blockIdx.x == kWorkers) {
    if (threadIdx.x != 0) return;
    while (shared->ready == 0) {
    }
    __threadfence();
    // EXPECT NO_RESULT_FENCE FENCE_BEHIND
    *out = shared->total;
    return;
  }
  double own = 0;
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kWorkers * kThreads) {
    own += in[i];
  }
  values[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned i = 1; i < kThreads; ++i) own += values[i];
  shared->parts[blockIdx.x] = own;
#if !defined(DEFECT_NO_ARRIVAL_FENCE)
  __threadfence();
#endif
  if (atomicAdd(&board->arrived, 1u) == kWorkers - 1) {
    __threadfence();
    add_up(shared);
  }
}

int main() {
  constexpr unsigned n = 1000;
  std::vector<double> in(n);
  std::iota(in.begin(), in.end(), 1.0);
  double *d_in, *d_out, out = 0;
  Board* board;
  if (cudaMalloc(&d_in, n * sizeof(double)) || cudaMalloc(&d_out, sizeof(double)) ||
      cudaMalloc(&board, sizeof(Board)) || cudaMemset(board, 0, sizeof(Board)) ||
      cudaMemcpy(d_in, in.data(), n * sizeof(double), cudaMemcpyHostToDevice)) {
    return 2;
  }
  sum<<<kWorkers + 1, kThreads>>>(d_in, n, board, d_out);
  if (cudaGetLastError()) return 2;
  if (cudaMemcpy(&out, d_out, sizeof out, cudaMemcpyDeviceToHost)) return 2;
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(board);
  std::printf("%g\n", out);
  return out == n * (n + 1) / 2.0 ? 0 : 1;
}
