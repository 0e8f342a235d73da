// CORPUS run=1
// Warps add to one total, blocks count themselves, and the last one takes the total.
//
// DEFECT NO_FENCE data_race: the count may be seen before the additions, and the total is read plainly
#include <cuda_runtime.h>

#include <cstdio>

__global__ void addUp(const int *in, int n, int *total, unsigned *done, int *result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = __reduce_add_sync(0xffffffffu, i < n ? in[i] : 0);
  if (threadIdx.x % 32 == 0) {
    // EXPECT NO_FENCE
    atomicAdd(total, sum);
#ifndef DEFECT_NO_FENCE
    __threadfence();
#endif
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  unsigned count = atomicInc(done, gridDim.x - 1);
  // EXPECT NO_FENCE
  if (count == gridDim.x - 1) *result = *total;
}

int main() {
  const int n = 1500, threads = 64, blocks = (n + threads - 1) / threads;
  int *host = new int[n], *in, *words, want = 0, got = 0;
  for (int i = 0; i < n; i++) want += host[i] = i % 11;
  if (cudaMalloc((void **)&in, n * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMalloc((void **)&words, 3 * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice) != cudaSuccess) return 1;
  if (cudaMemset(words, 0, 3 * sizeof(int)) != cudaSuccess) return 1;
  addUp<<<blocks, threads>>>(in, n, words, (unsigned *)words + 1, words + 2);
  if (cudaGetLastError() != cudaSuccess) return 1;
  if (cudaMemcpy(&got, words + 2, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  if (cudaFree(in) != cudaSuccess || cudaFree(words) != cudaSuccess) return 1;
  delete[] host;
  printf("Result = %s\n", got == want ? "PASS" : "FAIL");
  return got == want ? 0 : 1;
}
