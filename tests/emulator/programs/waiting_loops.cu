// Loops that wait for memory to change. With CHAIN, each of many blocks waits for the one before
// it; else one block waits for either of two places.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void chain(volatile int* flag, int* out) {
  // The last block in the chain starts first.
  const int b = static_cast<int>(gridDim.x) - 1 - static_cast<int>(blockIdx.x);
  while (b > 0 && flag[b - 1] == 0) {
  }
  __threadfence();
  out[b] = b ? out[b - 1] + 1 : 1;
  __threadfence();
  flag[b] = 1;
}

__global__ void either(volatile int* never, int* flag, int* out) {
  if (blockIdx.x == 0) {
    while (*never == 0 && atomicAdd(flag, 0) == 0) {
    }
    atomicAdd(out, 1);
  } else {
    atomicAdd(out, 1);
    atomicAdd(flag, 1);
  }
}

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? atoi(argv[1]) : 2;
  int *flag, *out;
  cudaMalloc(&flag, blocks * sizeof(int));
  cudaMalloc(&out, blocks * sizeof(int));
  cudaMemset(flag, 0, blocks * sizeof(int));
  cudaMemset(out, 0, blocks * sizeof(int));
#ifdef CHAIN
  chain<<<blocks, 1>>>(flag, out);
#else
  either<<<2, 1>>>(flag, flag + 1, out + blocks - 1);
#endif
  int last = 0;
  cudaMemcpy(&last, out + blocks - 1, sizeof(int), cudaMemcpyDeviceToHost);
  if (last != blocks) printf("%d of %d\n", last, blocks);
  cudaFree(flag);
  cudaFree(out);
  return last != blocks;
}
