// CORPUS run=2,4
// A dot product: shared memory, shuffles and an atomic on each rank, then a sum over the ranks.
//
// DEFECT NO_SYNC shared_memory_race: the first warp reads partial sums before they are written
// DEFECT PLAIN_ADD data_race: blocks add to the result without an atomic
// DEFECT DIVERGENT_BARRIER divergent_barrier: only some of the block's threads reach a barrier
// DEFECT OUT_OF_BOUNDS out_of_bounds: the last block has no bounds check
// DEFECT SHARED_OVERRUN out_of_bounds: one partial sum more than there are warps
// DEFECT BAD_LAUNCH launch_error: a block of 2048 threads, and nobody looks at the error
// DEFECT HOST_READ host_dereference: the host reads device memory through its pointer
// DEFECT DEVICE_READ device_dereference_host: the kernel reads the host's pageable memory
// DEFECT USE_AFTER_FREE use_after_free: the vector is freed before the kernel is launched
// DEFECT DOUBLE_FREE double_free: the vector is freed twice
#include "harness.h"

constexpr int kLength = 1000, kThreads = 128, kWarps = kThreads / 32;

__global__ void dot(const int* a, const int* b, unsigned long long* result, int length) {
  __shared__ unsigned long long partial[kWarps];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
#if defined(DEFECT_OUT_OF_BOUNDS)
  // EXPECT OUT_OF_BOUNDS
  sum = static_cast<unsigned long long>(a[i]) * b[i];
#else
  // EXPECT DEVICE_READ USE_AFTER_FREE
  if (i < length) sum = static_cast<unsigned long long>(a[i]) * b[i];
#endif
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
#if defined(DEFECT_SHARED_OVERRUN)
  int slot = threadIdx.x / 32 + 1;
#else
  int slot = threadIdx.x / 32;
#endif
  // EXPECT NO_SYNC SHARED_OVERRUN
  if (threadIdx.x % 32 == 0) partial[slot] = sum;
#if defined(DEFECT_DIVERGENT_BARRIER)
  if (threadIdx.x < 48) {
    // EXPECT DIVERGENT_BARRIER
    __syncthreads();
  }
#elif !defined(DEFECT_NO_SYNC)
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    unsigned long long total = 0;
    // EXPECT NO_SYNC SHARED_OVERRUN
    for (int w = 0; w < kWarps; ++w) total += partial[w];
#if defined(DEFECT_PLAIN_ADD)
    // EXPECT PLAIN_ADD
    *result += total;
#else
    atomicAdd(result, total);
#endif
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  std::vector<int> host(kLength);
  for (int i = 0; i < kLength; ++i) host[i] = value(job.rank, 0, i, 0) % 100;
  int* vector;
  unsigned long long* result;
  CHECK(cudaMalloc(&vector, kLength * sizeof(int)));
  CHECK(cudaMalloc(&result, sizeof(*result)));
  CHECK(cudaMemcpy(vector, host.data(), kLength * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(result, 0, sizeof(*result)));

  const int* operand = vector;
#if defined(DEFECT_DEVICE_READ)
  operand = host.data();
#elif defined(DEFECT_USE_AFTER_FREE)
  CHECK(cudaFree(vector));
#endif
#if defined(DEFECT_BAD_LAUNCH)
  // EXPECT BAD_LAUNCH
  dot<<<1, 2048, 0, job.stream>>>(operand, vector, result, kLength);
#else
  dot<<<(kLength + kThreads - 1) / kThreads, kThreads, 0, job.stream>>>(operand, vector, result,
                                                                        kLength);
  CHECK(cudaGetLastError());
#endif
  CHECK(ncclAllReduce(result, result, 1, ncclUint64, ncclSum, job.comm, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  unsigned long long got = 0, expected = 0;
#if defined(DEFECT_HOST_READ)
  // EXPECT HOST_READ
  got = *result;
#else
  CHECK(cudaMemcpy(&got, result, sizeof(got), cudaMemcpyDeviceToHost));
#endif
  for (int r = 0; r < job.ranks; ++r) {
    for (int i = 0; i < kLength; ++i) {
      unsigned long long x = value(r, 0, i, 0) % 100;
      expected += x * x;
    }
  }

#if defined(DEFECT_DOUBLE_FREE)
  CHECK(cudaFree(vector));
#endif
#if !defined(DEFECT_USE_AFTER_FREE)
  // EXPECT DOUBLE_FREE
  CHECK(cudaFree(vector));
#endif
  CHECK(cudaFree(result));
  return finish(job, got == expected);
}
