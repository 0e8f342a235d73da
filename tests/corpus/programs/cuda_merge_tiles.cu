// CORPUS run=1
// Cooperative groups at warp size: tiles of eight lanes sort by exchange, coalesced groups
// aggregate their atomics.
//
// DEFECT WRONG_TILE_STORE data_race: all tiles of a warp store to the first tile's place
// DEFECT PLAIN_COUNT data_race: the leaders count without an atomic
// DEFECT BLOCK_SYNC divergent_barrier: a barrier of the block in a branch of some tiles
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sortEights(int *data, int *odd, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? data[i] : 0x7fffffff;
  // odd-even transposition among the eight lanes
  for (int phase = 0; phase < 8; phase++) {
    int r = tile.thread_rank();
    int partner = (r % 2 == phase % 2) ? r + 1 : r - 1;
    bool inside = partner >= 0 && partner < 8;
    int other = tile.shfl(v, inside ? partner : r);
    if (inside) v = r < partner ? min(v, other) : max(v, other);
  }
#ifdef DEFECT_BLOCK_SYNC
  // EXPECT BLOCK_SYNC
  if (tile.meta_group_rank() % 2) block.sync();
#endif
#ifdef DEFECT_WRONG_TILE_STORE
  // EXPECT WRONG_TILE_STORE
  if (i < n) data[i / 32 * 32 + tile.thread_rank()] = v;
#else
  if (i < n) data[i] = v;
#endif
  if (i < n && v % 2) {
    cg::coalesced_group active = cg::coalesced_threads();
#ifdef DEFECT_PLAIN_COUNT
    // EXPECT PLAIN_COUNT
    if (active.thread_rank() == 0) *odd += active.size();
#else
    if (active.thread_rank() == 0) atomicAdd(odd, active.size());
#endif
  }
#ifdef DEFECT_BLOCK_SYNC
  // EXPECT BLOCK_SYNC
  block.sync();
#endif
}

int main() {
  const int n = 250;
  std::vector<int> h(n), want, got(n);
  for (int i = 0; i < n; i++) h[i] = (i * 7919) % 1009;
  want = h;
  int odd = 0, gotOdd = 0;
  for (int i = 0; i < n; i += 8) std::sort(want.begin() + i, want.begin() + std::min(n, i + 8));
  for (int v : h) odd += v % 2;
  int *d = nullptr, *dOdd = nullptr;
  bool ok = cudaMalloc(&d, n * sizeof(int)) == cudaSuccess && cudaMalloc(&dOdd, sizeof(int)) == cudaSuccess;
  ok = ok && cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess;
  ok = ok && cudaMemset(dOdd, 0, sizeof(int)) == cudaSuccess;
  if (!ok) return 1;
  sortEights<<<2, 128>>>(d, dOdd, n);
  ok = cudaGetLastError() == cudaSuccess;
  ok = ok && cudaMemcpy(got.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess;
  ok = ok && cudaMemcpy(&gotOdd, dOdd, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess;
  ok = ok && got == want && gotOdd == odd;
  cudaFree(d);
  cudaFree(dOdd);
  printf("%s\n", ok ? "sorted" : "not sorted");
  return ok ? 0 : 1;
}
