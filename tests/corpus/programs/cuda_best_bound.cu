// CORPUS run=1
// Blocks look for the largest score. Each takes a bound that others raise at the same time, counts
// what lies above it, raises it by compare-and-swap, and adds up halves by CUDA's own atomics.
//
// DEFECT SWAP_NOTHING data_race: the swap behind the plain read compares with another value
// DEFECT ADD_NOTHING data_race: an addition behind the plain read does not check what was read
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kBlocks = 12, kThreads = 64;

// Which way it goes, the plain read is a guess that the swap checks.
__device__ int raise(int* bound, int score) {
  // EXPECT SWAP_NOTHING ADD_NOTHING
  int before = *bound;
#if defined(DEFECT_SWAP_NOTHING)
  atomicCAS(bound, -1, -1);
  if (score > before) atomicMax(bound, score);
#elif defined(DEFECT_ADD_NOTHING)
  atomicAdd(bound, 0);
  if (score > before) atomicMax(bound, score);
#else
  int seen;
  do {
    seen = before;
    before = atomicCAS(bound, seen, score > seen ? score : seen);
  } while (before != seen);
#endif
  return before;
}

__global__ void search(const int* scores, int* bound, int* raised, __half* halves, __half2* pairs,
                       __nv_bfloat16* shorts) {
  int i = blockIdx.x * kThreads + threadIdx.x;
  // EXPECT SWAP_NOTHING ADD_NOTHING
  if (raise(bound, scores[i]) < scores[i]) atomicAdd(raised, 1);
  atomicAdd(halves + i % 2, __float2half(1.0f / 16));
  atomicAdd(pairs, __floats2half2_rn(1.0f / 16, 1.0f / 32));
  atomicAdd(shorts, __float2bfloat16(i < 128 ? 1.0f : 0.0f));
}

int main() {
  const int n = kBlocks * kThreads;
  std::vector<int> scores(n);
  for (int i = 0; i < n; ++i) scores[i] = i * 37 % n;
  int *d_scores, *bound;
  __half* sums;
  if (cudaMalloc(&d_scores, n * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMalloc(&bound, 2 * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMalloc(&sums, 16) != cudaSuccess) return 1;
  if (cudaMemcpy(d_scores, scores.data(), n * sizeof(int), cudaMemcpyHostToDevice) != cudaSuccess)
    return 1;
  if (cudaMemset(bound, 0, 2 * sizeof(int)) != cudaSuccess) return 1;
  if (cudaMemset(sums, 0, 16) != cudaSuccess) return 1;
  search<<<kBlocks, kThreads>>>(d_scores, bound, bound + 1, sums,
                                reinterpret_cast<__half2*>(sums + 2),
                                reinterpret_cast<__nv_bfloat16*>(sums + 4));
  if (cudaGetLastError() != cudaSuccess) return 1;
  int found[2];
  __half got[8];
  if (cudaMemcpy(found, bound, sizeof found, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  if (cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  bool pass = found[0] == n - 1 && found[1] > 0;
  pass = pass && __half2float(got[0]) == n / 32.0f && __half2float(got[1]) == n / 32.0f;
  pass = pass && __half2float(got[2]) == n / 16.0f && __half2float(got[3]) == n / 32.0f;
  __nv_bfloat16 count = *reinterpret_cast<__nv_bfloat16*>(got + 4);
  pass = pass && __bfloat162float(count) == 128.0f;
  std::printf("largest %d: %s\n", found[0], pass ? "PASS" : "FAIL");
  if (cudaFree(d_scores) != cudaSuccess || cudaFree(bound) != cudaSuccess) return 1;
  if (cudaFree(sums) != cudaSuccess) return 1;
  return pass ? 0 : 1;
}
