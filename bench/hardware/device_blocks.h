// What threads of one block do together: barriers, shuffles, shared memory, fences.
#pragma once

#include "device_cycles.h"
#include "measure.h"

namespace {

__global__ void sync_threads(long long* cycles, int steps) {
  clocked(cycles, steps, [](int) { __syncthreads(); });
}

__global__ void sync_warp(long long* cycles, int steps) {
  clocked(cycles, steps, [](int) { __syncwarp(); });
}

__global__ void shuffle(long long* cycles, int steps, int* out) {
  int x = threadIdx.x;
  clocked(cycles, steps, [&](int) { x += __shfl_xor_sync(~0u, x, 1); });
  out[threadIdx.x] = x;
}

__global__ void reduce_shared(long long* cycles, int steps, float* out) {
  __shared__ float sums[1024];
  float kept = 0;
  clocked(cycles, steps, [&](int i) {
    sums[threadIdx.x] = threadIdx.x + i;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    kept += sums[0];
  });
  out[threadIdx.x] = kept;
}

__global__ void reduce_shuffle(long long* cycles, int steps, float* out) {
  __shared__ float sums[32];
  float kept = 0;
  clocked(cycles, steps, [&](int i) {
    float x = threadIdx.x + i;
    for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(~0u, x, half);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
      x = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
      for (int half = 16; half > 0; half /= 2) x += __shfl_xor_sync(~0u, x, half);
      if (threadIdx.x == 0) sums[0] = x;
    }
    __syncthreads();
    kept += sums[0];
    __syncthreads();
  });
  out[threadIdx.x] = kept;
}

// Each thread loads words `stride` apart, so that a warp meets `stride` ways of bank conflict.
__global__ void load_shared(long long* cycles, int steps, int stride, int* out) {
  __shared__ int words[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = 0;
  int at = (threadIdx.x * stride) % 2048, sum = 0;
  clocked(cycles, steps, [&](int) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int v = *(volatile int*)&words[(at + k * 64) % 2048];
      sum += v;
    }
  });
  out[threadIdx.x] = sum;
}

__global__ void load_shared_latency(long long* cycles, int steps, int* out) {
  __shared__ int next[64];
  if (threadIdx.x < 64) next[threadIdx.x] = (threadIdx.x + 1) % 64;
  int at = 0;
  clocked(cycles, steps, [&](int) { at = next[at]; });
  out[threadIdx.x] = at;
}

__global__ void atomic_shared(long long* cycles, int steps, int stride, int* out) {
  __shared__ int words[1024];
  words[threadIdx.x] = 0;
  clocked(cycles, steps, [&](int) { atomicAdd(&words[threadIdx.x * stride], 1); });
  out[threadIdx.x] = words[threadIdx.x];
}

__global__ void fences(long long* cycles, int steps, int scope, int* to) {
  clocked(cycles, steps, [&](int i) {
    to[threadIdx.x] = i;
    if (scope == 0) __threadfence_block();
    if (scope == 1) __threadfence();
    if (scope == 2) __threadfence_system();
  });
}

void blocks(long long* cycles, int* out) {
  constexpr int kSteps = 1000;
  for (int threads : {32, 64, 128, 256, 512, 1024}) {
    std::string f = field("threads", threads);
    in_block("syncthreads", f, cycles, kSteps,
             [&] { sync_threads<<<1, threads>>>(cycles, kSteps); });
    in_block("reduce_shared_tree", f, cycles, kSteps,
             [&] { reduce_shared<<<1, threads>>>(cycles, kSteps, (float*)out); });
    in_block("reduce_shuffle", f, cycles, kSteps,
             [&] { reduce_shuffle<<<1, threads>>>(cycles, kSteps, (float*)out); });
    in_block("shuffle", f, cycles, kSteps, [&] { shuffle<<<1, threads>>>(cycles, kSteps, out); });
    for (int stride : {1, 2, 4, 8, 16, 32}) {
      in_block("shared_load_x4", f + ", " + field("ways", stride), cycles, kSteps,
               [&] { load_shared<<<1, threads>>>(cycles, kSteps, stride, out); });
    }
    for (int stride : {0, 1}) {
      in_block("shared_atomic_add", f + ", " + field("same_address", stride == 0 ? 1 : 0), cycles,
               kSteps, [&] { atomic_shared<<<1, threads>>>(cycles, kSteps, stride, out); });
    }
    for (int scope : {0, 1, 2}) {
      const char* names[] = {"block", "device", "system"};
      in_block("store_and_fence", f + ", " + field("scope", names[scope]), cycles, kSteps,
               [&] { fences<<<1, threads>>>(cycles, kSteps, scope, out); });
    }
  }
  in_block("syncwarp", "", cycles, kSteps, [&] { sync_warp<<<1, 32>>>(cycles, kSteps); });
  in_block("shared_load_latency", "", cycles, kSteps,
           [&] { load_shared_latency<<<1, 64>>>(cycles, kSteps, out); });
}

}  // namespace
