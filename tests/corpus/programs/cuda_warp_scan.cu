// CORPUS run=1
// An inclusive scan of each block by warp shuffles; a second kernel adds the blocks' offsets.
//
// DEFECT NARROW_MASK warp_mask: the upper lanes call with a mask that leaves them out
// DEFECT NO_SYNC shared_memory_race: warps read the totals before all of them are there
// DEFECT NO_SECOND_SYNC shared_memory_race: totals are read while the first warp scans them
// DEFECT BLOCK_TOTALS out_of_bounds: one total for each thread instead of one for each block
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CUDA_CHECK(x)                                                          \
  do {                                                                         \
    cudaError_t e_ = (x);                                                      \
    if (e_ != cudaSuccess) {                                                   \
      printf("%s failed at line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); \
      exit(EXIT_FAILURE);                                                      \
    }                                                                          \
  } while (0)

#define FULL_MASK 0xffffffffu
const int BLOCK = 128;

__device__ int warpScan(int v) {
  const int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d <<= 1) {
#ifdef DEFECT_NARROW_MASK
    // EXPECT NARROW_MASK
    int up = __shfl_up_sync(0x0000ffffu, v, d);
#else
    int up = __shfl_up_sync(FULL_MASK, v, d);
#endif
    if (lane >= d) v += up;
  }
  return v;
}

__global__ void scanBlocks(const int* in, int* out, int* totals, int n) {
  __shared__ int warpTotals[BLOCK / 32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int v = warpScan(i < n ? in[i] : 0);
  // EXPECT NO_SYNC
  if (lane == 31) warpTotals[warp] = v;
#ifndef DEFECT_NO_SYNC
  __syncthreads();
#endif
  if (warp == 0) {
    // EXPECT NO_SYNC
    int t = lane < BLOCK / 32 ? warpTotals[lane] : 0;
    t = warpScan(t);
    // EXPECT NO_SECOND_SYNC NO_SYNC
    if (lane < BLOCK / 32) warpTotals[lane] = t;
  }
#ifndef DEFECT_NO_SECOND_SYNC
  __syncthreads();
#endif
  // EXPECT NO_SECOND_SYNC
  if (warp > 0) v += warpTotals[warp - 1];
  if (i < n) out[i] = v;
#ifdef DEFECT_BLOCK_TOTALS
  // EXPECT BLOCK_TOTALS
  totals[i] = v;
#else
  if (threadIdx.x == BLOCK - 1) totals[blockIdx.x] = v;
#endif
}

__global__ void addOffsets(int* out, const int* totals, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int offset = 0;
  for (int b = 0; b < (int)blockIdx.x; b++) offset += totals[b];
  if (i < n) out[i] += offset;
}

int main() {
  const int n = 700, blocks = (n + BLOCK - 1) / BLOCK;
  std::vector<int> h(n), want(n), got(n);
  for (int i = 0; i < n; i++) h[i] = (i * 37) % 11 - 3;
  std::partial_sum(h.begin(), h.end(), want.begin());

  int *in, *out, *totals;
  CUDA_CHECK(cudaMalloc(&in, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&out, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&totals, blocks * sizeof(int)));
  CUDA_CHECK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  scanBlocks<<<blocks, BLOCK>>>(in, out, totals, n);
  addOffsets<<<blocks, BLOCK>>>(out, totals, n);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
  CUDA_CHECK(cudaFree(totals));
  const bool ok = got == want;
  printf("%s\n", ok ? "PASSED" : "FAILED");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
