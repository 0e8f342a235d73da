// CORPUS run=1
// A spin lock around a list that grows: the lock is taken by compare-and-swap and given back by an
// exchange; what it protects is volatile.
//
// DEFECT NO_LOCK_FENCE stale_read: nothing keeps what is read behind the taking of the lock
// DEFECT NO_UNLOCK_FENCE stale_read: nothing keeps what was written before the giving back
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

constexpr int kBlocks = 8, kEach = 4, kAll = kBlocks * kEach;

struct List {
  int lock;
  volatile int size;
  volatile int entries[kAll];
};

class Guard {
 public:
  __device__ explicit Guard(int* lock) : lock_(lock) {
    while (atomicCAS(lock_, 0, 1) != 0) {
    }
#if !defined(DEFECT_NO_LOCK_FENCE)
    __threadfence();
#endif
  }
  __device__ ~Guard() {
#if !defined(DEFECT_NO_UNLOCK_FENCE)
    __threadfence();
#endif
    atomicExch(lock_, 0);
  }

 private:
  int* lock_;
};

__global__ void fill(List* list) {
  for (int i = 0; i < kEach; ++i) {
    Guard guard(&list->lock);
    // EXPECT NO_LOCK_FENCE NO_UNLOCK_FENCE
    const int at = list->size;
    list->entries[at] = blockIdx.x * kEach + i;
    list->size = at + 1;
  }
}

int main() {
  List *list, copy;
  if (cudaMalloc(&list, sizeof(List)) != cudaSuccess) return 2;
  if (cudaMemset(list, 0, sizeof(List)) != cudaSuccess) return 2;
  fill<<<kBlocks, 1>>>(list);
  if (cudaGetLastError() != cudaSuccess) return 2;
  if (cudaMemcpy((void*)&copy, list, sizeof copy, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(list);
  std::vector<int> entries(copy.entries, copy.entries + kAll);
  std::sort(entries.begin(), entries.end());
  bool good = copy.size == kAll;
  for (int i = 0; i < kAll; ++i) good = good && entries[i] == i;
  std::printf("%s\n", good ? "complete" : "entries are missing");
  return !good;
}
