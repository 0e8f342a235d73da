// Never ends, in a kernel that calls nothing.
#include <cuda_runtime.h>
__global__ void spin() {
  for (int i = 0;; i ^= 1) {
  }
}
int main() {
  spin<<<4, 32>>>();
  return cudaDeviceSynchronize();
}
