// CORPUS run=1
// A table of buckets, each behind a lock from cuda::atomic; every thread inserts some keys.
//
// DEFECT RELAXED_UNLOCK data_race: the lock is given back without release
// DEFECT RELAXED_LOCK data_race: the lock is taken without acquire
// DEFECT BLOCK_LOCK scope_too_narrow: a lock of block scope between blocks
// DEFECT WRONG_LOCK data_race: the lock of another bucket
// DEFECT NEVER_UNLOCKED deadlock: a full bucket is left locked
#include <cuda/atomic>

#include <algorithm>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#ifdef DEFECT_BLOCK_LOCK
using flag_t = cuda::atomic<int, cuda::thread_scope_block>;
#else
using flag_t = cuda::atomic<int, cuda::thread_scope_device>;
#endif

struct bucket {
  flag_t locked;
  int size;
  int keys[30];
};

__device__ void insert(bucket *table, int buckets, int key) {
  bucket &b = table[key % buckets];
#ifdef DEFECT_WRONG_LOCK
  flag_t &lock = table[key % 2].locked;
#else
  flag_t &lock = b.locked;
#endif
  int expected = 0;
#ifdef DEFECT_RELAXED_LOCK
  const auto take = cuda::std::memory_order_relaxed;
#else
  const auto take = cuda::std::memory_order_acquire;
#endif
  // EXPECT NEVER_UNLOCKED
  while (!lock.compare_exchange_weak(expected, 1, take, cuda::std::memory_order_relaxed)) {
    expected = 0;
  }
  // EXPECT RELAXED_UNLOCK RELAXED_LOCK BLOCK_LOCK WRONG_LOCK
  int at = b.size;
#ifdef DEFECT_NEVER_UNLOCKED
  if (at == 8) return;
#endif
  // EXPECT RELAXED_UNLOCK RELAXED_LOCK BLOCK_LOCK WRONG_LOCK
  b.size = at + 1;
  // EXPECT WRONG_LOCK
  b.keys[at] = key;
#ifdef DEFECT_RELAXED_UNLOCK
  lock.store(0, cuda::std::memory_order_relaxed);
#else
  lock.store(0, cuda::std::memory_order_release);
#endif
}

__global__ void fill(bucket *table, int buckets, int keys) {
  for (int key = blockIdx.x * blockDim.x + threadIdx.x; key < keys; key += gridDim.x * blockDim.x) {
    insert(table, buckets, key);
  }
}

int main() {
  const int buckets = 7, keys = 140;
  bucket *table;
  cudaError_t err = cudaMallocManaged(&table, buckets * sizeof(bucket));
  if (err == cudaSuccess) err = cudaMemset(table, 0, buckets * sizeof(bucket));
  fill<<<4, 24>>>(table, buckets, keys);
  if (err == cudaSuccess) err = cudaGetLastError();
  if (err == cudaSuccess) err = cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    std::printf("error: %s\n", cudaGetErrorString(err));
    return 1;
  }
  bool good = true;
  for (int b = 0; b < buckets; b++) {
    std::vector<int> got(table[b].keys, table[b].keys + table[b].size);
    std::sort(got.begin(), got.end());
    good = good && got.size() == keys / buckets;
    for (size_t i = 0; i < got.size(); i++) good = good && got[i] == b + (int)i * buckets;
  }
  cudaFree(table);
  std::printf("%s\n", good ? "All keys found" : "Keys are missing");
  return good ? 0 : 1;
}
