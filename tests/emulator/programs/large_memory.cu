// More device memory than the machine that runs this may have: little of it is touched.
#include "expect.h"

constexpr size_t kMiB = size_t{1} << 20;

__global__ void mark(int* p, size_t ints, size_t step) {
  for (size_t i = threadIdx.x; i * step < ints; i += blockDim.x) p[i * step] = static_cast<int>(i);
}

__global__ void compare(const int* p, size_t ints, int value, int* different) {
  for (size_t i = threadIdx.x; i < ints; i += blockDim.x) {
    if (p[i] != value) atomicAdd(different, 1);
  }
}

int main() {
  size_t free_bytes, total;
  CUDA(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(total == 4096 * kMiB && free_bytes == total);
  int *sparse = nullptr, *p = nullptr;
  const size_t bytes = 20480 * kMiB, step = 256 * kMiB / 4;
  CUDA(cudaMalloc(&sparse, bytes));
  CUDA(cudaMemGetInfo(&free_bytes, &total));
  EXPECT(total == 4096 * kMiB && free_bytes == 0);
  EXPECT(cudaMalloc(&p, 40960 * kMiB) == cudaErrorMemoryAllocation);
  cudaGetLastError();
  mark<<<1, 32>>>(sparse, bytes / 4, step);
  int values[2];
  CUDA(cudaMemcpy(&values[0], sparse + 7 * step, 4, cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 7);

  // Overwritten as a whole, from an odd place on; the bytes before it stay.
  const size_t ints = 24 * kMiB / 4;
  int* different = nullptr;
  CUDA(cudaMalloc(&p, 32 * kMiB));
  CUDA(cudaMalloc(&different, 4));
  CUDA(cudaMemset(different, 0, 4));
  mark<<<1, 32>>>(p, 1001, 1);
  CUDA(cudaMemset(p + 1001, 0x11, ints * 4));
  compare<<<1, 256>>>(p + 1001, ints / 64, 0x11111111, different);
  compare<<<1, 256>>>(p + 1001 + ints - ints / 64, ints / 64, 0x11111111, different);
  CUDA(cudaMemcpy(&values[0], p + 1000, 8, cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 1000 && values[1] == 0x11111111);
  // What one moves within a buffer, from an odd place to another.
  CUDA(cudaMemcpy(p + 1, p + 1001 + ints / 2, ints / 2 * 4, cudaMemcpyDeviceToDevice));
  compare<<<1, 256>>>(p + 1, ints / 64, 0x11111111, different);
  CUDA(cudaMemcpy(&values[0], different, 4, cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 0);
#ifdef READ_FRESH
  compare<<<1, 1>>>(sparse + step / 2, 1, 5, different);
  CUDA(cudaDeviceSynchronize());
#endif
#ifdef FREED
  CUDA(cudaFree(p));
  CUDA(cudaMalloc(&p, 32 * kMiB));
  compare<<<1, 1>>>(p + ints / 2, 1, 0x11111111, different);
  CUDA(cudaMemcpy(&values[0], different, 4, cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 1);
#endif
  return failures != 0;
}
