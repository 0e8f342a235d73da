// Shows where each kind of memory lies, and what kind of values the built-in variables are.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

template <class T>
__device__ constexpr int is_rvalue(T&, int) {
  return 0;
}
template <class T>
__device__ constexpr int is_rvalue(T&&, long) {
  return 1;
}
static_assert(std::is_same_v<decltype(threadIdx), const uint3>);
static_assert(std::is_same_v<decltype(blockIdx), const uint3>);
static_assert(std::is_same_v<decltype((threadIdx)), const uint3&>);
static_assert(std::is_same_v<decltype((gridDim)), const dim3&>);
static_assert(sizeof(threadIdx) == 12 && sizeof(blockDim) == 12);

__device__ __noinline__ unsigned by_reference(const dim3& size, const uint3& place) {
  return size.x + place.x;
}

struct Seen {
  void *shared, *local;
  size_t offset;
  int rvalues, by_reference, kept, read_back;
};

__global__ void look(Seen* seen) {
  __shared__ int here[4];
  int local = static_cast<int>(threadIdx.x);
  here[threadIdx.x] = 7;
  const auto& kept = threadIdx;
  __syncthreads();
  if (threadIdx.x != 3) return;
  seen->shared = here;
  seen->local = &local;
  seen->offset = __cvta_generic_to_shared(here);
  seen->rvalues = is_rvalue(threadIdx, 0) + is_rvalue(threadIdx.x, 0) + is_rvalue(blockDim, 0) +
                  is_rvalue(blockIdx, 0) + is_rvalue(gridDim.y, 0);
  seen->by_reference = static_cast<int>(by_reference(blockDim, threadIdx));
  seen->kept = static_cast<int>(kept.x);
  seen->read_back = *static_cast<int*>(__cvta_shared_to_generic(seen->offset));
}

int main() {
  Seen* seen = nullptr;
  void* device = nullptr;
  int local = 0;
  std::vector<int> heap(1);
  cudaMallocManaged(&seen, sizeof *seen);
  cudaMalloc(&device, 4);
  look<<<1, 4>>>(seen);
  cudaDeviceSynchronize();
  std::printf("%p %p %p %p %p %p\n", device, static_cast<void*>(seen), seen->shared, seen->local,
              static_cast<void*>(&local), static_cast<void*>(heap.data()));
  std::printf("%zu %d %d %d %d\n", seen->offset, seen->rvalues, seen->by_reference, seen->kept,
              seen->read_back);
}
