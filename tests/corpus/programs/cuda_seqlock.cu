// CORPUS run=1
// Readers copy a pair of numbers that a writer changes now and then: a sequence number, odd while
// the writer is at work, tells them to look again.
//
// DEFECT NO_FIRST_FENCE stale_read: nothing keeps the pair behind the first look at the number
// DEFECT NO_WRITER_FENCE stale_read: nothing keeps the pair before the even number
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kReaders = 4, kLooks = 8, kChanges = 12;

struct Shared {
  unsigned sequence;
  int low, high;  // high is always 3 * low
};

__device__ void change(volatile Shared* shared) {
  for (int i = 1; i <= kChanges; ++i) {
    const unsigned number = shared->sequence;
    shared->sequence = number + 1;
    __threadfence();
    shared->low = i;
    shared->high = 3 * i;
#if !defined(DEFECT_NO_WRITER_FENCE)
    __threadfence();
#endif
    shared->sequence = number + 2;
    __threadfence();
  }
}

__device__ int look(const volatile Shared* shared) {
  for (;;) {
    const unsigned before = shared->sequence;
#if !defined(DEFECT_NO_FIRST_FENCE)
    __threadfence();
#endif
    // EXPECT NO_FIRST_FENCE NO_WRITER_FENCE
    const int low = shared->low;
    // EXPECT NO_FIRST_FENCE NO_WRITER_FENCE
    const int high = shared->high;
    __threadfence();
    if (before % 2 == 0 && shared->sequence == before) return high - 3 * low;
  }
}

__global__ void run(Shared* shared, int* torn) {
  if (blockIdx.x == 0) {
    change(shared);
  } else {
    for (int i = 0; i < kLooks; ++i) {
      if (look(shared) != 0) atomicAdd(torn, 1);
    }
  }
}

int main() {
  Shared* shared;
  int *torn, count = -1;
  cudaError_t status = cudaMalloc(&shared, sizeof(Shared));
  if (status == cudaSuccess) status = cudaMalloc(&torn, sizeof(int));
  if (status == cudaSuccess) status = cudaMemset(shared, 0, sizeof(Shared));
  if (status == cudaSuccess) status = cudaMemset(torn, 0, sizeof(int));
  if (status != cudaSuccess) return 2;
  run<<<1 + kReaders, 1>>>(shared, torn);
  if (cudaGetLastError() != cudaSuccess) return 2;
  status = cudaMemcpy(&count, torn, sizeof count, cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) return 2;
  if (cudaFree(shared) != cudaSuccess || cudaFree(torn) != cudaSuccess) return 2;
  std::printf("%d pairs were torn\n", count);
  return count;
}
