// One process, two devices: each has its own values of a device variable.
#include "expect.h"

__device__ int value = 10;
__constant__ int step;
__managed__ int everywhere;

__global__ void advance() {
  value += step;
  atomicAdd_system(&everywhere, 1);
}

int main() {
  for (int device = 0; device < 2; device++) {
    CUDA(cudaSetDevice(device));
    const int mine = device + 1;
    CUDA(cudaMemcpyToSymbol(step, &mine, sizeof mine));
  }
  for (int round = 0; round < 3; round++) {
    for (int device = 0; device < 2; device++) {
      CUDA(cudaSetDevice(device));
      advance<<<1, 1>>>();
    }
  }
  for (int device = 0; device < 2; device++) {
    CUDA(cudaSetDevice(device));
    CUDA(cudaDeviceSynchronize());
    int got = 0;
    CUDA(cudaMemcpyFromSymbol(&got, value, sizeof got));
    EXPECT(got == 10 + 3 * (device + 1));
  }
  EXPECT(everywhere == 6);
  return failures != 0;
}
