// CORPUS run=1
// A five-point stencil on tiles with a halo in shared memory; two grids change places each step.
//
// DEFECT NO_SYNC shared_memory_race: uses the tile before its halo is loaded
// DEFECT NARROW_TILE out_of_bounds: the tile has no room for the right halo
// DEFECT IN_PLACE data_race: blocks read the neighbors' cells while those are replaced
// DEFECT WRONG_PITCH out_of_bounds: rows are addressed by the pitch in elements, counted twice
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <utility>
#include <vector>

struct Grid {
  int width, height;
  size_t pitch;  // bytes
  float* data;
  __host__ __device__ float* row(int y) const {
#ifdef DEFECT_WRONG_PITCH
    return data + y * pitch;
#else
    return (float*)((char*)data + y * pitch);
#endif
  }
};

const int BX = 16, BY = 4;

__global__ void step(Grid in, Grid out) {
#ifdef DEFECT_NARROW_TILE
  __shared__ float tile[BY + 1][BX + 2];
#else
  __shared__ float tile[BY + 2][BX + 2];
#endif
  int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  auto at = [&](int cx, int cy) {
    cx = min(max(cx, 0), in.width - 1);
    cy = min(max(cy, 0), in.height - 1);
    // EXPECT IN_PLACE WRONG_PITCH
    return in.row(cy)[cx];
  };
  // EXPECT NO_SYNC
  tile[ty][tx] = at(x, y);
  // EXPECT NO_SYNC
  if (threadIdx.x == 0) tile[ty][0] = at(x - 1, y);
  // EXPECT NO_SYNC
  if (threadIdx.x == BX - 1) tile[ty][BX + 1] = at(x + 1, y);
  // EXPECT NO_SYNC
  if (threadIdx.y == 0) tile[0][tx] = at(x, y - 1);
  // EXPECT NARROW_TILE NO_SYNC
  if (threadIdx.y == BY - 1) tile[BY + 1][tx] = at(x, y + 1);
#ifndef DEFECT_NO_SYNC
  __syncthreads();
#endif
  if (x < out.width && y < out.height) {
    // EXPECT NO_SYNC
    float sum = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx];
    // EXPECT NO_SYNC NARROW_TILE
    sum += tile[ty + 1][tx];
    // EXPECT IN_PLACE WRONG_PITCH
    out.row(y)[x] = 0.25f * sum;
  }
}

int main() {
  const int w = 37, h = 18, steps = 3;
  std::vector<float> a(w * h), b(w * h), got(w * h);
  for (int i = 0; i < w * h; ++i) a[i] = float(i * 13 % 32);
  Grid g[2];
  for (Grid& grid : g) {
    grid.width = w;
    grid.height = h;
    if (cudaMallocPitch(&grid.data, &grid.pitch, w * sizeof(float), h) != cudaSuccess) return 1;
  }
  const size_t line = w * sizeof(float);
  if (cudaMemcpy2D(g[0].data, g[0].pitch, a.data(), line, line, h, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
  const dim3 block(BX, BY), blocks((w + BX - 1) / BX, (h + BY - 1) / BY);
  for (int s = 0; s < steps; ++s) {
#ifdef DEFECT_IN_PLACE
    step<<<blocks, block>>>(g[0], g[0]);
#else
    step<<<blocks, block>>>(g[s % 2], g[(s + 1) % 2]);
#endif
    if (cudaGetLastError() != cudaSuccess) return 1;
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        float left = a[y * w + (x ? x - 1 : 0)], right = a[y * w + (x + 1 < w ? x + 1 : x)];
        float up = a[(y ? y - 1 : 0) * w + x], down = a[(y + 1 < h ? y + 1 : y) * w + x];
        b[y * w + x] = 0.25f * (left + right + up + down);
      }
    }
    std::swap(a, b);
  }
  const Grid& last = g[steps % 2];
  if (cudaMemcpy2D(got.data(), line, last.data, last.pitch, line, h, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  float worst = 0;
  for (int i = 0; i < w * h; ++i) worst = fmaxf(worst, fabsf(got[i] - a[i]));
  cudaFree(g[0].data);
  cudaFree(g[1].data);
  std::printf("largest difference %g\n", worst);
  return worst > 1e-4f;
}
