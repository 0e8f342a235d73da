// Throws through kernels, callbacks and main.
#include <cuda_runtime.h>
#include <stdexcept>
__global__ void thrower() { throw std::runtime_error("from a kernel"); }
int main() {
  try {
    thrower<<<1, 3>>>();
    cudaDeviceSynchronize();
  } catch (...) {
  }
  throw 1;
}
