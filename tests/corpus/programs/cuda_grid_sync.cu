// CORPUS run=1
// Jacobi iterations in one cooperative kernel: the grid synchronizes after each sweep, and the two
// buffers change places.
//
// DEFECT NO_GRID_SYNC data_race: a block reads what its neighbor may still be writing
// DEFECT BLOCK_SYNC data_race: a barrier of the block where one of the grid is needed
// DEFECT PLAIN_LAUNCH not_cooperative: grid.sync() needs a cooperative launch
// DEFECT ONE_BUFFER data_race: sweeps in place, so that neighbors are read while they change
// DEFECT GRID_TOO_LARGE launch_error: more blocks than can be resident at the same time
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;

__global__ void jacobi(float* a, float* b, int n, int sweeps) {
  cg::grid_group grid = cg::this_grid();
  float *from = a, *to = b;
#ifdef DEFECT_ONE_BUFFER
  to = from;
#endif
  for (int s = 0; s < sweeps; ++s) {
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) {
      float left = i > 0 ? from[i - 1] : 1.0f;
      // EXPECT NO_GRID_SYNC BLOCK_SYNC ONE_BUFFER
      float right = i + 1 < n ? from[i + 1] : 0.0f;
      // EXPECT NO_GRID_SYNC BLOCK_SYNC ONE_BUFFER
      to[i] = 0.5f * (left + right);
    }
#if defined(DEFECT_BLOCK_SYNC)
    cg::this_thread_block().sync();
#elif !defined(DEFECT_NO_GRID_SYNC)
    // EXPECT PLAIN_LAUNCH
    grid.sync();
#endif
    float* t = from;
    from = to;
    to = t;
  }
}

int main() {
  int n = 500, sweeps = 6, blocks = 0, block = 64;
  cudaDeviceProp prop;
  if (cudaGetDeviceProperties(&prop, 0) != cudaSuccess) return 1;
  if (!prop.cooperativeLaunch) return 1;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, jacobi, block, 0)) return 1;
  blocks *= prop.multiProcessorCount;
#ifndef DEFECT_GRID_TOO_LARGE
  if (blocks > 4) blocks = 4;
#else
  blocks += 1;
#endif

  std::vector<float> host(n), ref(n), next(n), out(n);
  for (int i = 0; i < n; ++i) host[i] = ref[i] = float(i % 3);
  float *a, *b;
  if (cudaMalloc(&a, n * sizeof(float)) || cudaMalloc(&b, n * sizeof(float))) return 1;
  if (cudaMemcpy(a, host.data(), n * sizeof(float), cudaMemcpyHostToDevice)) return 1;
  void* args[] = {&a, &b, &n, &sweeps};
#ifdef DEFECT_PLAIN_LAUNCH
  if (cudaLaunchKernel((void*)jacobi, blocks, block, args, 0, 0)) return 1;
#else
  // EXPECT GRID_TOO_LARGE
  cudaError_t launched = cudaLaunchCooperativeKernel((void*)jacobi, blocks, block, args, 0, 0);
#ifndef DEFECT_GRID_TOO_LARGE
  if (launched) return 1;
#endif
#endif
  if (cudaMemcpy(out.data(), sweeps % 2 ? b : a, n * sizeof(float), cudaMemcpyDeviceToHost)) return 1;

  for (int s = 0; s < sweeps; ++s) {
    for (int i = 0; i < n; ++i) {
      next[i] = 0.5f * ((i ? ref[i - 1] : 1.0f) + (i + 1 < n ? ref[i + 1] : 0.0f));
    }
    std::swap(ref, next);
  }
  bool same = true;
  for (int i = 0; i < n; ++i) same = same && std::fabs(out[i] - ref[i]) < 1e-6f;
  cudaFree(a);
  cudaFree(b);
  printf("Test %s\n", same ? "PASSED" : "FAILED");
  return same ? 0 : 1;
}
