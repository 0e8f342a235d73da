// CORPUS run=1
// A queue with one producer and one consumer block: items are relaxed atomics, the indices are
// stored with release and loaded with acquire.
//
// DEFECT RELAXED_TAIL stale_read: the index that announces an item is stored without release
// DEFECT RELAXED_LOOK stale_read: the index is loaded without acquire
// DEFECT BLOCK_SCOPE stale_read: the index is released to the producer's own block only
#include <cuda_runtime.h>
#include <cuda/atomic>

#include <cstdint>
#include <cstdio>

using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

#if defined(DEFECT_RELAXED_TAIL)
constexpr auto kAnnounce = memory_order_relaxed;
#else
constexpr auto kAnnounce = memory_order_release;
#endif
#if defined(DEFECT_RELAXED_LOOK)
constexpr auto kLook = memory_order_relaxed;
#else
constexpr auto kLook = memory_order_acquire;
#endif
#if defined(DEFECT_BLOCK_SCOPE)
constexpr auto kScope = cuda::thread_scope_block;
#else
constexpr auto kScope = cuda::thread_scope_device;
#endif

template <unsigned kCapacity>
struct Queue {
  cuda::atomic<uint32_t, cuda::thread_scope_device> items[kCapacity];
  cuda::atomic<uint32_t, kScope> tail;
  cuda::atomic<uint32_t, cuda::thread_scope_device> head;

  __device__ void push(uint32_t item) {
    const uint32_t at = tail.load(memory_order_relaxed);
    while (at - head.load(memory_order_acquire) == kCapacity) {
    }
    items[at % kCapacity].store(item, memory_order_relaxed);
    tail.store(at + 1, kAnnounce);
  }
  __device__ uint32_t pop() {
    const uint32_t at = head.load(memory_order_relaxed);
    while (tail.load(kLook) == at) {
    }
    // EXPECT RELAXED_TAIL RELAXED_LOOK BLOCK_SCOPE
    const uint32_t item = items[at % kCapacity].load(memory_order_relaxed);
    head.store(at + 1, memory_order_release);
    return item;
  }
};

constexpr int kItems = 20;

__global__ void produce_and_consume(Queue<4>* queue, uint32_t* out) {
  if (blockIdx.x == 0) {
    for (uint32_t i = 0; i < kItems; ++i) queue->push(i * i + 7);
  } else {
    for (uint32_t i = 0; i < kItems; ++i) out[i] = queue->pop();
  }
}

int main() {
  Queue<4>* queue = nullptr;
  uint32_t *out = nullptr, got[kItems];
  if (cudaMalloc(&queue, sizeof *queue) != cudaSuccess) return 2;
  if (cudaMalloc(&out, sizeof got) != cudaSuccess) return 2;
  if (cudaMemset(queue, 0, sizeof *queue) != cudaSuccess) return 2;
  produce_and_consume<<<2, 1>>>(queue, out);
  if (cudaGetLastError() != cudaSuccess) return 2;
  if (cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  int wrong = 0;
  for (uint32_t i = 0; i < kItems; ++i) wrong += got[i] != i * i + 7;
  cudaFree(queue);
  cudaFree(out);
  std::printf("%d of %d items wrong\n", wrong, kItems);
  return wrong != 0;
}
