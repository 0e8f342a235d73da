// CORPUS run=1
// The norm and the largest element of each row, and how often it comes: sums in registers, a tile in
// an array, a flag of the host.
//
// DEFECT SUM uninitialized_read: a sum begins with what its register holds
// DEFECT TILE uninitialized_read: products are added to an array that nobody cleared
// DEFECT LARGEST uninitialized_read: a maximum is taken with what the variable holds
// DEFECT REGISTER uninitialized_read: an inline assembly adds a register that it does not set
// DEFECT HOST uninitialized_read: the host counts wrong rows from what its variable holds
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define MUST(call)                                                            \
  if ((call) != cudaSuccess) {                                                \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(call)); \
    return 1;                                                                 \
  }

constexpr int kRows = 64, kColumns = 48, kTile = 4;

__device__ inline unsigned next_index(unsigned i) {
  unsigned next;
#ifdef DEFECT_REGISTER
  // EXPECT REGISTER
  asm("{ .reg .u32 one; add.u32 %0, %1, one; }" : "=r"(next) : "r"(i));
#else
  asm("{ .reg .u32 one; mov.u32 one, 1; add.u32 %0, %1, one; }" : "=r"(next) : "r"(i));
#endif
  return next;
}

__global__ void rows(const float* in, float* norm, float* most, float* tile_sums) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= kRows) return;
#ifdef DEFECT_SUM
  // EXPECT SUM
  float sum;
#else
  float sum = 0.0f;
#endif
#ifdef DEFECT_LARGEST
  // EXPECT LARGEST
  float largest;
#else
  float largest = -INFINITY;
#endif
#ifdef DEFECT_TILE
  // EXPECT TILE
  float tile[kTile];
#else
  float tile[kTile] = {};
#endif
  float value;  // set in each turn
  for (unsigned i = 0; i < kColumns; i = next_index(i)) {
    value = in[row * kColumns + i];
    sum += value * value;
    largest = fmaxf(largest, value);
    tile[i % kTile] += value;
  }
  norm[row] = sum;
  most[row] = largest;
  for (int k = 0; k < kTile; ++k) tile_sums[row * kTile + k] = tile[k];
}

int main() {
  std::vector<float> in(kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) in[i] = static_cast<float>(i % 11 - 5);
  float *input, *norm, *most, *tiles;
  MUST(cudaMalloc(&input, in.size() * sizeof(float)));
  MUST(cudaMalloc(&norm, kRows * sizeof(float)));
  MUST(cudaMalloc(&most, kRows * sizeof(float)));
  MUST(cudaMalloc(&tiles, kRows * kTile * sizeof(float)));
  MUST(cudaMemcpy(input, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
  rows<<<2, 32>>>(input, norm, most, tiles);
  MUST(cudaGetLastError());
  std::vector<float> norms(kRows), largest(kRows), sums(kRows * kTile);
  MUST(cudaMemcpy(norms.data(), norm, kRows * sizeof(float), cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(largest.data(), most, kRows * sizeof(float), cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(sums.data(), tiles, sums.size() * sizeof(float), cudaMemcpyDeviceToHost));
#ifdef DEFECT_HOST
  // EXPECT HOST
  int wrong;
#else
  int wrong = 0;
#endif
  for (int row = 0; row < kRows; ++row) {
    float sum = 0, top = -INFINITY, tile[kTile] = {};
    for (int i = 0; i < kColumns; ++i) {
      const float value = in[row * kColumns + i];
      sum += value * value;
      top = std::fmax(top, value);
      tile[i % kTile] += value;
    }
    if (norms[row] != sum || largest[row] != top) ++wrong;
    for (int k = 0; k < kTile; ++k) wrong += sums[row * kTile + k] != tile[k];
  }
  MUST(cudaFree(input));
  MUST(cudaFree(norm));
  MUST(cudaFree(most));
  MUST(cudaFree(tiles));
  if (wrong) std::printf("%d rows are wrong\n", wrong);
  return wrong != 0;
}
