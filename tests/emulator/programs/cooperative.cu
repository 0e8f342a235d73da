// Cooperative groups: every operation against what the guide says of it.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "expect.h"

namespace cg = cooperative_groups;

__device__ int reduce_tile(const cg::thread_block_tile<8>& tile, int value) {
  for (int step = tile.size() / 2; step > 0; step /= 2) value += tile.shfl_down(value, step);
  return tile.shfl(value, 0);
}
__device__ int sum_of_group(cg::thread_group group, int* scratch, int value) {
  const int rank = group.thread_rank();
  for (int i = group.size() / 2; i > 0; i /= 2) {
    scratch[rank] = value;
    group.sync();
    if (rank < i) value += scratch[rank + i];
    group.sync();
  }
  return value;
}

__global__ void tiles(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const unsigned t = block.thread_rank();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  auto direct = cg::tiled_partition<8>(block);
  int bad = 0;
  bad += block.size() != 64 || block.num_threads() != 64 || t != threadIdx.x;
  bad += block.group_index().x != blockIdx.x || block.thread_index().x != threadIdx.x;
  bad += warp.meta_group_rank() != t / 32 || warp.meta_group_size() != 2;
  bad += tile.meta_group_rank() != t % 32 / 8 || tile.meta_group_size() != 4;
  bad += direct.meta_group_rank() != t / 8 || direct.meta_group_size() != 8;
  bad += tile.thread_rank() != t % 8 || tile.size() != 8;
  const int first = static_cast<int>(t / 8 * 8);
  bad += reduce_tile(tile, t) != 8 * first + 28;
  bad += tile.shfl_xor(static_cast<int>(t), 1) != static_cast<int>(t ^ 1);
  bad += tile.shfl_up(static_cast<int>(t), 1) != (t % 8 ? static_cast<int>(t) - 1 : first);
  bad += tile.ballot(t % 8 == 3) != 8u || !tile.any(t % 8 == 3) || tile.all(t % 8 == 3);
  bad += tile.match_any(t % 2) != (t % 2 ? 0xAAu : 0x55u);
  bad += cg::reduce(tile, static_cast<int>(t), cg::plus<int>()) != 8 * first + 28;
  bad += cg::reduce(warp, static_cast<int>(t), cg::greater<int>()) != static_cast<int>(t | 31);
  bad += cg::reduce(tile, static_cast<double>(t), cg::less<double>()) != first;
  const int rank = static_cast<int>(t % 8);
  bad += cg::inclusive_scan(tile, rank) != rank * (rank + 1) / 2;
  bad += cg::exclusive_scan(tile, rank, cg::plus<int>()) != rank * (rank - 1) / 2;
  // Lanes that branch together are a group.
  if (t % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    const unsigned mine = 11;
    bad += active.size() != mine;
    bad += active.shfl(static_cast<int>(t), 0) != (t < 32 ? 0 : 33);
    bad += cg::reduce(active, 1, cg::plus<int>()) != static_cast<int>(mine);
    bad += active.ballot(1) != (1u << mine) - 1;
  }
  const auto labeled = cg::labeled_partition(warp, static_cast<int>(t % 4));
  bad += labeled.size() != 8 || labeled.thread_rank() != t % 32 / 4;
  bad += labeled.meta_group_rank() != t % 4 || labeled.meta_group_size() != 4;
  const auto halves = cg::binary_partition(warp, t % 32 < 5);
  bad += halves.size() != (t % 32 < 5 ? 5 : 27);
  __shared__ int scratch[64];
  const int sum = sum_of_group(block, scratch, t);
  bad += t == 0 && sum != 64 * 63 / 2;
  const auto part = cg::tiled_partition(block, 16);
  const int partial = sum_of_group(part, scratch + t / 16 * 16, 1);
  bad += t % 16 == 0 && partial != 16;
  atomicAdd(out, bad);
}

__global__ void copies(const int* in, int* out) {
  __shared__ int staged[96];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, staged, in, sizeof(int) * 96);
  cg::wait(block);
  for (unsigned i = block.thread_rank(); i < 96; i += block.size()) out[i] = staged[95 - i] + 1;
}

// Each step reads what the other blocks wrote in the step before.
__global__ void shift(int* a, int* b, int steps) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned long long i = grid.thread_rank(), n = grid.size();
  for (int step = 0; step < steps; step++) {
    b[i] = a[(i + 64) % n] + 1;  // EXPECT(WITHOUT_GRID_SYNC): data_race
#ifndef WITHOUT_GRID_SYNC
    grid.sync();  // EXPECT(NOT_COOPERATIVE): not_cooperative
#endif
    int* swap = a;
    a = b;
    b = swap;
  }
}

__global__ void leaves_early(int* out) {
  if (blockIdx.x == 1) return;
  cg::this_grid().sync();  // EXPECT(EARLY_EXIT): deadlock
  out[blockIdx.x] = 1;
}

int main() {
  int *a, *b, host[256];
  CUDA(cudaMalloc(&a, 256 * sizeof(int)));
  CUDA(cudaMalloc(&b, 256 * sizeof(int)));
  CUDA(cudaMemset(a, 0, 256 * sizeof(int)));
  tiles<<<2, 64>>>(a);
  CUDA(cudaMemcpy(host, a, sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 0);

  CUDA(cudaMemset(a, 0, 256 * sizeof(int)));
  copies<<<1, 32>>>(a, b);
  CUDA(cudaMemcpy(host, b, 96 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 1 && host[95] == 1);

  int steps = 4, per_sm = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, shift, 64, 0));
  EXPECT(per_sm >= 1);
  void* args[] = {&a, &b, &steps};
#ifdef NOT_COOPERATIVE
  shift<<<4, 64>>>(a, b, steps);
#elif defined(EARLY_EXIT)
  void* only[] = {&a};
  CUDA(cudaLaunchCooperativeKernel((void*)leaves_early, 3, 32, only));
#else
  CUDA(cudaLaunchCooperativeKernel((void*)shift, dim3(4), dim3(64), args));
  CUDA(cudaMemcpy(host, a, 256 * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 4 && host[255] == 4);
#endif
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(a));
  CUDA(cudaFree(b));
  return failures != 0;
}
