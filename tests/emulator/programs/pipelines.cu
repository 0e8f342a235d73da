// Tiles of several warps, and pipelines whose stages a block fills and uses together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/pipeline>

#include "expect.h"

namespace cg = cooperative_groups;
constexpr int threads = 256, stages = 2, batches = 5;

__global__ void tiles(int* sums, int* firsts) {
  __shared__ cg::block_tile_memory<threads> scratch;
  auto block = cg::this_thread_block(scratch);
  auto tile = cg::tiled_partition<128>(block);
  const int sum = cg::reduce(tile, static_cast<int>(tile.thread_rank()), cg::plus<int>());
  const int first = tile.shfl(static_cast<int>(block.thread_rank()), 5);
  const int some = tile.any(tile.thread_rank() == 77) + 2 * tile.all(tile.thread_rank() < 100);
  if (tile.thread_rank() == 0) {
    sums[tile.meta_group_rank()] = sum * 10 + some;
    firsts[tile.meta_group_rank()] = first + 1000 * static_cast<int>(tile.meta_group_size());
  }
}

// Every thread fills and uses.
__global__ void together(const int* in, int* out) {
  __shared__ int stage[stages][threads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int batch = 0, fetched = 0; batch < batches; batch++) {
    for (; fetched < batches && fetched < batch + stages; fetched++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % stages], in + fetched * threads,
                         sizeof(int) * threads, pipe);
      pipe.producer_commit();
    }
#ifndef NO_WAIT
    pipe.consumer_wait();
#endif
    const int other = threads - 1 - static_cast<int>(block.thread_rank());
    out[batch * threads + other] =
        stage[batch % stages][other];  // EXPECT(NO_WAIT): missing_wait|shared_memory_race|destination_overwrite|async_misuse
    pipe.consumer_release();
  }
}

// The first warp fills, the others use.
__global__ void apart(const int* in, int* out) {
  __shared__ int stage[stages][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  const bool produces = block.thread_rank() < 32;
  auto pipe = cuda::make_pipeline(
      block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int batch = 0; batch < batches; batch++) {
    if (produces) {
#ifndef NO_ACQUIRE
      pipe.producer_acquire();
#endif
      const int* from = &in[batch * 32 + threadIdx.x];
      int* to = &stage[batch % stages][threadIdx.x];
      cuda::memcpy_async(to, from, sizeof(int), pipe);  // EXPECT(NO_ACQUIRE): destination_overwrite|shared_memory_race|missing_wait|async_misuse
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      if (threadIdx.x < 64)
        out[batch * 32 + threadIdx.x - 32] = stage[batch % stages][63 - threadIdx.x];
      pipe.consumer_release();
    }
  }
}

int main() {
  constexpr int n = threads * batches;
  int *in, *out, host[n];
  CUDA(cudaMallocManaged(&in, sizeof host));
  CUDA(cudaMalloc(&out, sizeof host));
  for (int i = 0; i < n; i++) in[i] = i;
  tiles<<<1, threads>>>(out, out + 2);
  CUDA(cudaMemcpy(host, out, 4 * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2; i++) EXPECT(host[i] == 128 * 127 / 2 * 10 + 1);
  EXPECT(host[2] == 2005 && host[3] == 2133);
  together<<<1, threads>>>(in, out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
#ifndef NO_WAIT
  for (int i = 0; i < n; i++) EXPECT(host[i] == i);
#endif
  apart<<<1, 96>>>(in, out);
  CUDA(cudaMemcpy(host, out, sizeof(int) * 32 * batches, cudaMemcpyDeviceToHost));
#ifndef NO_ACQUIRE
  for (int i = 0; i < 32 * batches; i++) EXPECT(host[i] == i / 32 * 32 + 31 - i % 32);
#endif
  CUDA(cudaFree(in));
  CUDA(cudaFree(out));
  return failures;
}
