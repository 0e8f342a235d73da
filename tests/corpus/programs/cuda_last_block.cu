// CORPUS run=1
// Sum in one kernel: blocks leave partial sums, the block that counts itself last adds them up.
//
// DEFECT NO_FENCE data_race: the count may be seen before the partial sum
// DEFECT COUNT_BEFORE_SUM data_race: the block is counted before its partial sum is stored
// DEFECT NO_SHARED_SYNC shared_memory_race: threads ask whether theirs is the last block too early
#include <cuda_runtime.h>

#include <cstdio>

__device__ unsigned int blocksDone = 0;
__device__ int total;

__global__ void sumAll(const int *in, int *partial, int n) {
  __shared__ int warpSums[4];
  __shared__ bool last;
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  v = __reduce_add_sync(0xffffffff, v);
  if (threadIdx.x % 32 == 0) warpSums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = warpSums[0] + warpSums[1] + warpSums[2] + warpSums[3];
#ifdef DEFECT_COUNT_BEFORE_SUM
    unsigned int count = atomicInc(&blocksDone, gridDim.x - 1);
    // EXPECT COUNT_BEFORE_SUM
    partial[blockIdx.x] = sum;
    __threadfence();
#else
    // EXPECT NO_FENCE
    partial[blockIdx.x] = sum;
#ifndef DEFECT_NO_FENCE
    __threadfence();
#endif
    unsigned int count = atomicInc(&blocksDone, gridDim.x - 1);
#endif
    // EXPECT NO_SHARED_SYNC
    last = count == gridDim.x - 1;
  }
#ifndef DEFECT_NO_SHARED_SYNC
  __syncthreads();
#endif
  // EXPECT NO_SHARED_SYNC
  if (last && threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    // EXPECT NO_FENCE COUNT_BEFORE_SUM
    for (int b = 0; b < gridDim.x; b++) sum += partial[b];
    total = sum;
  }
}

int main(int argc, char **argv) {
  const int n = 5000, blocks = 6;
  int *h = new int[n], want = 0;
  for (int i = 0; i < n; i++) want += h[i] = i % 17;
  int *in, *partial;
  if (cudaMalloc((void **)&in, n * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMalloc((void **)&partial, blocks * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice) != cudaSuccess) return 1;
  bool pass = true;
  for (int launch = 0; launch < 2; launch++) {
    int got = 0;
    const int zero = 0;
    if (cudaMemcpyToSymbol(total, &zero, sizeof(int)) != cudaSuccess) return 1;
    sumAll<<<blocks, 128>>>(in, partial, n);
    if (cudaGetLastError() != cudaSuccess) return 1;
    if (cudaMemcpyFromSymbol(&got, total, sizeof(int)) != cudaSuccess) return 1;
    pass = pass && got == want;
  }
  cudaError_t status = cudaDeviceSynchronize();
  pass = pass && status == cudaSuccess;
  cudaFree(in);
  cudaFree(partial);
  delete[] h;
  printf("Result = %s\n", pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
