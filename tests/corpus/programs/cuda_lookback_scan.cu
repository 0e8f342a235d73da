// CORPUS run=1
// Exclusive scan in one pass with decoupled look-back: each block publishes its sum, then its
// prefix, and looks back over its predecessors. Blocks are numbered in the order of their start.
//
// DEFECT RELAXED_STORE data_race: the state is published without release
// DEFECT RELAXED_LOAD data_race: the predecessor's state is read without acquire
// DEFECT BLOCK_SCOPE scope_too_narrow: a state of block scope does not reach the other blocks
// DEFECT NO_PREFIX deadlock: a block waits for a prefix that its predecessor never publishes
#include <cuda/atomic>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kThreads = 64;
enum State : int { kEmpty = 0, kSum = 1, kPrefix = 2 };

#if defined(DEFECT_BLOCK_SCOPE)
constexpr auto kScope = cuda::thread_scope_block;
#else
constexpr auto kScope = cuda::thread_scope_device;
#endif
#if defined(DEFECT_RELAXED_STORE)
constexpr auto kPublish = cuda::memory_order_relaxed;
#else
constexpr auto kPublish = cuda::memory_order_release;
#endif
#if defined(DEFECT_RELAXED_LOAD)
constexpr auto kObserve = cuda::memory_order_relaxed;
#else
constexpr auto kObserve = cuda::memory_order_acquire;
#endif

struct Partial {
  int state;
  uint32_t sum, prefix;
};

__device__ void publish(Partial& mine, int state) {
  cuda::atomic_ref<int, kScope>(mine.state).store(state, kPublish);
}

__device__ uint32_t look_back(Partial* partials, int tile) {
  uint32_t exclusive = 0;
  for (int before = tile - 1; before >= 0; --before) {
    cuda::atomic_ref<int, kScope> state(partials[before].state);
    int seen;
#if defined(DEFECT_NO_PREFIX)
    // EXPECT NO_PREFIX
    while ((seen = state.load(kObserve)) != kPrefix) {
    }
#else
    while ((seen = state.load(kObserve)) == kEmpty) {
    }
#endif
    if (seen == kPrefix) {
      // EXPECT RELAXED_STORE RELAXED_LOAD BLOCK_SCOPE
      return exclusive + partials[before].prefix;
    }
    // EXPECT RELAXED_STORE RELAXED_LOAD BLOCK_SCOPE
    exclusive += partials[before].sum;
  }
  return exclusive;
}

__global__ void scan(const uint32_t* in, uint32_t* out, int n, Partial* partials, int* next_tile) {
  __shared__ int tile;
  __shared__ uint32_t values[kThreads], offset;
  if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1);
  __syncthreads();
  const int i = tile * kThreads + threadIdx.x;
  values[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t sum = 0;
    for (int t = 0; t < kThreads; ++t) {
      const uint32_t v = values[t];
      values[t] = sum;
      sum += v;
    }
    // EXPECT RELAXED_STORE RELAXED_LOAD BLOCK_SCOPE
    partials[tile].sum = sum;
    publish(partials[tile], kSum);
    offset = look_back(partials, tile);
    // EXPECT RELAXED_STORE RELAXED_LOAD BLOCK_SCOPE
    partials[tile].prefix = offset + sum;
#if !defined(DEFECT_NO_PREFIX)
    publish(partials[tile], kPrefix);
#endif
  }
  __syncthreads();
  if (i < n) out[i] = offset + values[threadIdx.x];
}

bool ok(cudaError_t status) {
  if (status != cudaSuccess) std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  return status == cudaSuccess;
}

}  // namespace

int main() {
  constexpr int n = 600, tiles = (n + kThreads - 1) / kThreads;
  std::vector<uint32_t> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = uint32_t(i) * 2654435761u >> 20;
  uint32_t *d_in = nullptr, *d_out = nullptr;
  Partial* partials = nullptr;
  int* next_tile = nullptr;
  bool good = ok(cudaMalloc(&d_in, n * 4)) && ok(cudaMalloc(&d_out, n * 4)) &&
              ok(cudaMalloc(&partials, tiles * sizeof(Partial))) &&
              ok(cudaMalloc(&next_tile, sizeof(int))) &&
              ok(cudaMemset(partials, 0, tiles * sizeof(Partial))) &&
              ok(cudaMemset(next_tile, 0, sizeof(int))) &&
              ok(cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice));
  if (!good) return 2;
  scan<<<tiles, kThreads>>>(d_in, d_out, n, partials, next_tile);
  if (!ok(cudaGetLastError())) return 2;
  if (!ok(cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost))) return 2;
  uint32_t sum = 0;
  for (int i = 0; i < n; ++i) {
    good = good && out[i] == sum;
    sum += in[i];
  }
  cudaFree(d_in), cudaFree(d_out), cudaFree(partials), cudaFree(next_tile);
  std::puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
