// cp.async in its forms, with several stages: each thread waits for its own copies by groups, a
// barrier in memory stands for them, or a pipeline does.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include "expect.h"

namespace cg = cooperative_groups;
constexpr int threads = 64, batches = 7;

__device__ unsigned smem(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void copy16(void* to, const void* from, int kept) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem(to)), "l"(from),
               "r"(kept));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }

// Two stages: the next one is on its way while one is used. The last groups are empty.
__global__ void two_stages(const int4* in, int* out) {
  __shared__ int4 stage[2][threads];
  const int t = static_cast<int>(threadIdx.x), other = threads - 1 - t;
  copy16(&stage[0][t], in + t, 16);
#ifndef NO_COMMIT
  commit();
#endif
  for (int batch = 0; batch < batches; batch++) {
    if (batch + 1 < batches) {
      copy16(&stage[(batch + 1) % 2][t], in + (batch + 1) * threads + t,
             batch % 2 ? 16 : 8);
    }
#ifndef NO_COMMIT
    commit();
#endif
#if defined(WAIT_TOO_FEW)
    asm volatile("cp.async.wait_group 2;");
#elif !defined(NO_WAIT)
    asm volatile("cp.async.wait_group 1;");
#endif
#ifndef NO_BARRIER
    __syncthreads();
#endif
    const int4 v = stage[batch % 2][other];  // EXPECT(NO_REUSE_BARRIER): missing_wait|shared_memory_race EXPECT(NO_WAIT): missing_wait|destination_overwrite EXPECT(NO_BARRIER): shared_memory_race|missing_wait EXPECT(WAIT_TOO_FEW): missing_wait|destination_overwrite EXPECT(NO_COMMIT): missing_wait|destination_overwrite
    out[batch * threads + other] = v.x + v.z;
#if !defined(NO_REUSE_BARRIER) && !defined(NO_BARRIER)
    __syncthreads();
#endif
  }
}

// Nobody but the thread itself uses what it copies.
__global__ void own(int* data, int* out) {
  __shared__ int stage[threads];
  const int t = static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(stage + t, data + t, sizeof(int));
#ifdef COPY_TWICE
  __pipeline_memcpy_async(stage + t, data + t, sizeof(int));  // EXPECT(COPY_TWICE): destination_overwrite
#endif
  __pipeline_commit();
#ifdef SOURCE_REUSE
  data[t] = 1;  // EXPECT(SOURCE_REUSE): source_reuse
#endif
#ifdef OVERWRITE
  stage[t] = 1;  // EXPECT(OVERWRITE): destination_overwrite
#endif
#ifdef OWN_NO_WAIT
  out[t] = stage[t];  // EXPECT(OWN_NO_WAIT): missing_wait
#endif
#ifdef VOLATILE
  out[t] = *const_cast<volatile int*>(stage + t);  // EXPECT(VOLATILE): missing_wait
#endif
  __pipeline_wait_prior(0);
  out[t] = stage[t];
  data[t] = 7;
  stage[t] = 8;
  // Behind the wait nothing is on its way.
  const unsigned none = 1;
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.u32 p, %2, 0;\n"
      " cp.async.ca.shared.global [%0], [%1], 4, p;\n cp.async.wait_all;\n}" ::"r"(smem(stage + t)),
      "l"(data + t), "r"(none));
  if (stage[t]) out[t] = -1;
}

// Three stages of a thread's own pipeline.
__global__ void thread_pipeline(const int* in, int* out) {
  __shared__ int stage[3][threads];
  const int t = static_cast<int>(threadIdx.x);
  auto pipe = cuda::make_pipeline();
  for (int batch = 0, fetched = 0; batch < batches; batch++) {
    for (; fetched < batches && fetched < batch + 3; fetched++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stage[fetched % 3][t], in + fetched * threads + t, sizeof(int), pipe);
      pipe.producer_commit();
    }
#ifdef PIPE_NO_WAIT
    if (batch == 0)
#endif
    pipe.consumer_wait();
    out[batch * threads + t] = stage[batch % 3][t];  // EXPECT(PIPE_NO_WAIT): missing_wait|destination_overwrite
    pipe.consumer_release();
  }
}

// The upper half produces, the lower one consumes; a barrier in memory stands for the copies.
__global__ void at_barrier(const int* in, int* out) {
  __shared__ int stage[2][threads];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  if (threadIdx.x < 2) {
    init(full + threadIdx.x, threads);
    init(empty + threadIdx.x, threads);
  }
  __syncthreads();
  const int t = static_cast<int>(threadIdx.x) % threads;
  const bool produces = threadIdx.x >= threads;
  for (int batch = 0; batch < batches; batch++) {
    const int at = batch % 2;
    const bool round = batch / 2 % 2;
    if (produces) {
#ifndef NO_EMPTY
      empty[at].wait_parity(!round);
#endif
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem(&stage[at][t])),  // EXPECT(NO_EMPTY): destination_overwrite|shared_memory_race|deadlock|async_misuse
                   "l"(in + batch * threads + t));
#ifdef PLAIN_ARRIVAL
      (void)full[at].arrive();
#else
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(smem(full + at)));
#endif
    } else {
      full[at].wait_parity(round);
      out[batch * threads + t] = stage[at][threads - 1 - t];  // EXPECT(PLAIN_ARRIVAL): missing_wait|destination_overwrite
      (void)empty[at].arrive();
    }
  }
  if (!produces) return;
#ifdef ISSUER_READS
  out[t] = stage[0][t];  // EXPECT(ISSUER_READS): missing_wait
#endif
  asm volatile("cp.async.wait_all;");
  if (stage[(batches - 1) % 2][t] != in[(batches - 1) * threads + t]) out[t] = -1;
}

// Of the group's copies, the last one may still be on its way.
__global__ void by_group(const int* in, int* out) {
  __shared__ int stage[2][threads];
  const auto block = cg::this_thread_block();
  const int other = threads - 1 - static_cast<int>(threadIdx.x);
  cg::memcpy_async(block, stage[0], in, sizeof stage[0]);
  cg::memcpy_async(block, stage[1], in + threads, sizeof stage[1]);
  cg::wait_prior<1>(block);
  out[other] = stage[0][other];
#ifdef GROUP_NO_WAIT
  block.sync();
#else
  cg::wait(block);
#endif
  out[threads + other] = stage[1][other];  // EXPECT(GROUP_NO_WAIT): missing_wait
}

// A barrier of the library, for sizes that no bulk copy takes; a wait for it waits for all copies.
__global__ void by_library_barrier(const int* in, int* out) {
  __shared__ int stage[threads];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  block.sync();
  for (int batch = 0; batch < 3; batch++) {
    cuda::memcpy_async(block, stage, in + batch * threads, sizeof stage, ready);
#ifdef LIBRARY_NO_WAIT
    (void)ready.arrive();
    block.sync();
#else
    ready.arrive_and_wait();
#endif
    out[batch * threads + threadIdx.x] = stage[threads - 1 - threadIdx.x];  // EXPECT(LIBRARY_NO_WAIT): missing_wait|destination_overwrite|async_misuse
    block.sync();
  }
}

int main() {
  constexpr int n = 4 * threads * batches;
  int *in, *out, host[n];
  CUDA(cudaMalloc(&in, sizeof host));
  CUDA(cudaMalloc(&out, sizeof host));
  for (int i = 0; i < n; i++) host[i] = i;
  CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  const auto fetch = [&] { CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)); };
  two_stages<<<1, threads>>>(reinterpret_cast<const int4*>(in), out);
  fetch();
  for (int i = 0; i < threads * batches; i++) {
    const bool half = i / threads % 2 == 1;
    EXPECT(host[i] == (half ? 4 * i : 8 * i + 2));
  }
  thread_pipeline<<<1, threads>>>(in, out);
  fetch();
  for (int i = 0; i < threads * batches; i++) EXPECT(host[i] == i);
  at_barrier<<<1, 2 * threads>>>(in, out);
  fetch();
  for (int i = 0; i < threads * batches; i++) {
    EXPECT(host[i] == i / threads * threads + threads - 1 - i % threads);
  }
  by_group<<<1, threads>>>(in, out);
  fetch();
  for (int i = 0; i < 2 * threads; i++) EXPECT(host[i] == i);
  by_library_barrier<<<1, threads>>>(in, out);
  own<<<1, threads>>>(in, out);
  fetch();
  for (int i = 0; i < threads; i++) EXPECT(host[i] == i);
  for (int i = threads; i < 3 * threads; i++) {
    EXPECT(host[i] == i / threads * threads + threads - 1 - i % threads);
  }
  CUDA(cudaFree(in));
  CUDA(cudaFree(out));
  return failures;
}
