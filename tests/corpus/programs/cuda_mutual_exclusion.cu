// CORPUS run=1
// Two blocks add to a sum in turn: a lock by Peterson's algorithm, whose fences are sequentially
// consistent. Before it, each tells that it has come, and looks whether the other one has.
//
// DEFECT NO_FENCE stale_read: both may find the lock free: release and acquire are not enough
// DEFECT NO_MEETING stale_read: both may look before either has been seen to come
#include <cuda_runtime.h>

#include <cuda/atomic>

#include <cstdio>
#include <cstdlib>

#define MUST(call)                                                   \
  do {                                                               \
    if ((call) != cudaSuccess) {                                     \
      std::fprintf(stderr, "line %d: %s failed\n", __LINE__, #call); \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

struct State {
  int wants[2], turn, came[2], seen;
  float sum;
};

using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void add(State* state, const float* in, int n) {
  const int me = blockIdx.x, other = 1 - me;
  Word(state->came[me]).store(1, cuda::memory_order_release);
#ifndef DEFECT_NO_MEETING
  __threadfence();
#endif
  // EXPECT NO_MEETING
  if (Word(state->came[other]).load(cuda::memory_order_acquire)) atomicOr(&state->seen, 1);

  for (int i = me; i < n; i += 2) {
    Word(state->wants[me]).store(1, cuda::memory_order_release);
    Word(state->turn).store(other, cuda::memory_order_release);
#ifndef DEFECT_NO_FENCE
    __threadfence();
#endif
    // EXPECT NO_FENCE
    while (Word(state->wants[other]).load(cuda::memory_order_acquire) &&
           // EXPECT NO_FENCE
           Word(state->turn).load(cuda::memory_order_acquire) == other) {
    }
    state->sum += in[i];
    Word(state->wants[me]).store(0, cuda::memory_order_release);
  }
}

int main() {
  constexpr int kNumbers = 16;
  float numbers[kNumbers], expected = 0, *in;
  for (int i = 0; i < kNumbers; i++) expected += numbers[i] = static_cast<float>(i + 1);
  State *state, after;
  MUST(cudaMalloc(&in, sizeof numbers));
  MUST(cudaMalloc(&state, sizeof(State)));
  MUST(cudaMemset(state, 0, sizeof(State)));
  MUST(cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  add<<<2, 1>>>(state, in, kNumbers);
  MUST(cudaGetLastError());
  MUST(cudaMemcpy(&after, state, sizeof after, cudaMemcpyDeviceToHost));
  MUST(cudaFree(in));
  MUST(cudaFree(state));
  const bool good = after.sum == expected && after.seen == 1;
  std::printf("%s\n", good ? "right" : "wrong");
  return good ? 0 : 1;
}
