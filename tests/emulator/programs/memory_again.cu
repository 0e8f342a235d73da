// Freed memory is had again, in larger pieces too: a device of 64 MiB.
#include "expect.h"

__global__ void set(char* p, size_t n) { p[n - 1] = 1; }

int main() {
  const size_t piece = size_t{8} << 20;
  char *p = nullptr, *kept = nullptr;
  CUDA(cudaMalloc(&kept, piece));
  for (int i = 0; i < 20; i++) {  // more than there are addresses that nobody has had
    CUDA(cudaMalloc(&p, piece));
    CUDA(cudaFree(p));
  }
  size_t free_bytes, total;
  CUDA(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(free_bytes == 7 * piece && total == 8 * piece);
  for (size_t pieces = 2; pieces <= 6; pieces++) {
    CUDA(cudaMalloc(&p, pieces * piece));
    set<<<1, 1>>>(p, pieces * piece);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(p));
  }
  EXPECT(cudaMalloc(&p, 8 * piece) == cudaErrorMemoryAllocation);
  cudaGetLastError();
  CUDA(cudaFree(kept));
  return failures != 0;
}
