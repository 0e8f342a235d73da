// Runs out of stack in a kernel and on the host.
#include <cuda_runtime.h>
__host__ __device__ int deep(int n, volatile char* from) {
  volatile char room[4096];
  room[n & 4095] = from[0];
  return deep(n + 1, room) + room[1];
}
__global__ void sink(int* out) {
  volatile char seed[1] = {1};
  *out = deep(0, seed);
}
int main() {
  int* out;
  cudaMalloc(&out, 4);
  sink<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  volatile char seed[1] = {1};
  return deep(0, seed);
}
