// CORPUS run=1
// A block scales a vector in place, tile by tile, as the programming guide does with cuda::barrier:
// memcpy_async with an aligned size or memcpy_async_tx bring a tile, cuda::ptx writes it back.
//
// DEFECT NO_BARRIER_WAIT missing_wait: the tile may not have come
// DEFECT NO_TX missing_wait|deadlock: the barrier does not know of the bytes
// DEFECT NO_SYNC_BEFORE_STORE shared_memory_race|missing_proxy_fence: the tile is stored before all threads have scaled theirs
// DEFECT NO_PROXY_FENCE missing_proxy_fence: the store may not see what threads wrote
// DEFECT REUSED source_reuse|destination_overwrite: the next tile is brought in while the last is still being stored
// DEFECT GLOBAL_READ missing_wait: reads back what the store has not brought yet
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kTile = 512, kThreads = 128;

__global__ void scale(int* data, int tiles, int factor, int* last) {
  __shared__ alignas(128) int tile[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  for (int at = blockIdx.x; at < tiles; at += gridDim.x) {
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
      // EXPECT REUSED NO_TX
      cuda::device::memcpy_async_tx(tile, data + at * kTile, cuda::aligned_size_t<16>(sizeof tile), bar);
#if defined(DEFECT_NO_TX)
      token = bar.arrive();
#else
      token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
#endif
    } else {
      token = bar.arrive();
    }
#if defined(DEFECT_NO_BARRIER_WAIT)
    __syncthreads();
#else
    // EXPECT NO_TX
    bar.wait(std::move(token));
#endif
    // EXPECT NO_BARRIER_WAIT NO_TX NO_SYNC_BEFORE_STORE
    for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] *= factor;
#if !defined(DEFECT_NO_PROXY_FENCE)
    ptx::fence_proxy_async(ptx::space_shared);
#endif
#if !defined(DEFECT_NO_SYNC_BEFORE_STORE)
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
      // EXPECT NO_SYNC_BEFORE_STORE NO_PROXY_FENCE GLOBAL_READ
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + at * kTile, tile, sizeof tile);
      ptx::cp_async_bulk_commit_group();
#if !defined(DEFECT_REUSED)
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
#endif
    }
#if defined(DEFECT_GLOBAL_READ)
    // EXPECT GLOBAL_READ
    if (threadIdx.x == 0) last[blockIdx.x] = data[at * kTile];
#endif
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
#if !defined(DEFECT_GLOBAL_READ)
    last[blockIdx.x] = data[blockIdx.x * kTile];
#endif
  }
}

// The same by a whole group, and by the names that CUDA 12.0 had.
__global__ void sum(const int* data, int* total) {
  __shared__ alignas(16) int tile[2][kTile];
  __shared__ barrier bar[2];
  auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() < 2) init(bar + block.thread_rank(), block.size());
  block.sync();
  cuda::memcpy_async(block, tile[0], data, cuda::aligned_size_t<16>(sizeof tile[0]), bar[0]);
  if (block.thread_rank() == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(tile[1], data + kTile, sizeof tile[1], bar[1]);
    cuda::device::barrier_expect_tx(bar[1], sizeof tile[1]);
  }
  bar[0].arrive_and_wait();
  bar[1].arrive_and_wait();
  int own = 0;
  for (int i = threadIdx.x; i < 2 * kTile; i += blockDim.x) own += tile[i / kTile][i % kTile];
  atomicAdd(total, own);
}

int main() {
  const int tiles = 6;
  std::vector<int> values(tiles * kTile);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int>(i % 97);
  int *data, *last, *total, got = 0;
  if (cudaMalloc(&data, values.size() * sizeof(int)) || cudaMalloc(&last, 2 * sizeof(int))) return 2;
  if (cudaMalloc(&total, sizeof(int)) || cudaMemset(total, 0, sizeof(int))) return 2;
  if (cudaMemcpy(data, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice)) return 2;
  scale<<<2, kThreads>>>(data, tiles, 3, last);
  sum<<<1, kThreads>>>(data, total);
  if (cudaGetLastError() || cudaDeviceSynchronize()) return 2;
  std::vector<int> scaled(values.size());
  if (cudaMemcpy(scaled.data(), data, scaled.size() * sizeof(int), cudaMemcpyDeviceToHost)) return 2;
  if (cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost)) return 2;
  int errors = 0, expected = 0;
  for (size_t i = 0; i < values.size(); i++) errors += scaled[i] != 3 * values[i];
  for (int i = 0; i < 2 * kTile; i++) expected += 3 * values[i];
  errors += got != expected;
  std::printf("%d errors\n", errors);
  if (cudaFree(data) || cudaFree(last) || cudaFree(total)) return 2;
  return errors != 0;
}
