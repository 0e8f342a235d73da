// Inline PTX: each instruction against C++.
#include <cstdint>

#include "expect.h"

#define POPC "popc.b32"

__device__ uint32_t lane() {
  uint32_t lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ int load_acquire(const int* p) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
__device__ void store_release(int* p, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

__global__ void compute(int* bad) {
  const uint32_t t = threadIdx.x;
  int wrong = 0;
  wrong += lane() != t % 32;
  uint32_t warp, mask, size, block;
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(size));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  wrong += warp != t / 32 || mask != (1u << t % 32) - 1 || size != 64 || block != blockIdx.x;
  uint32_t sum, high, low, count;
  asm("add.u32 %0, %1, 7;" : "=r"(sum) : "r"(t));
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(high) : "r"(0x80000000u), "r"(6u));
  asm("mad.lo.s32 %0, %1, %1, %2;" : "=r"(low) : "r"(t), "r"(3));
  asm(POPC R"(  // of set bits
       %0, %1;)" : "=r"(count) : "r"(0xF0Fu));
  wrong += sum != t + 7 || high != 3 || low != t * t + 3 || count != 8;
  uint64_t wide, packed;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(0xFFFFFFFFu), "r"(2u));
  asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "r"(5u), "r"(9u));
  uint32_t first, second;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(first), "=r"(second) : "l"(packed));
  wrong += wide != 0x1FFFFFFFEull || packed != (9ull << 32 | 5) || first != 5 || second != 9;
  int field, inserted, top;
  asm("bfe.s32 %0, %1, 4, 4;" : "=r"(field) : "r"(0xF0));
  asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(inserted) : "r"(0xA), "r"(0));
  asm("bfind.u32 %0, %1;" : "=r"(top) : "r"(0x500u));
  wrong += field != -1 || inserted != 0xA00 || top != 10;
  uint32_t logic;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(logic) : "r"(12u), "r"(10u), "r"(1u));
  wrong += logic != (12u ^ 10u ^ 1u);
  float power, root;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(3.0f));
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(4.0f));
  wrong += power != 8 || root != 0.5f;
  // A scope with a predicate of its own.
  uint32_t chosen = 1;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ge.u32 p, %1, 32;\n\t"
      "@p add.u32 %0, %0, 41;\n\t"
      "}"
      : "+r"(chosen)
      : "r"(t));
  wrong += chosen != (t >= 32 ? 42 : 1);
  uint32_t leader, elected;
  asm volatile("{ .reg .pred q; elect.sync %0|q, %2; selp.u32 %1, 1, 0, q; }"
               : "=r"(leader), "=r"(elected)
               : "r"(0xFFFFFFFFu));
  wrong += leader != 0 || elected != (t % 32 == 0);
  uint32_t other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(other) : "r"(t));
  wrong += other != (t ^ 1);
  // Shared memory, by an address cut to 32 bits.
  __shared__ float words[64];
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&words[t]));
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(static_cast<float>(t)) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  float next;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(next) : "r"(at ^ 4));
  wrong += next != static_cast<float>(t ^ 1);
  atomicAdd(bad, wrong);
}

__global__ void vectors(const int4* in, int4* out) {
  int4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(in + threadIdx.x));
  asm volatile("st.global.cs.v4.s32 [%0], {%1,%2,%3,%4};" ::"l"(out + threadIdx.x), "r"(v.w),
               "r"(v.z), "r"(v.y), "r"(v.x));
}

// Block 1 waits for what block 0 releases.
// Sixteen bytes for each thread into shared memory, of which the last thread gets only eight.
__global__ void staged(const int* in, int* out) {
  __shared__ __align__(16) int stage[64];
  const uint32_t t = threadIdx.x;
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(&stage[4 * t]));
  const int kept = t == 15 ? 8 : 16;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n" ::"r"(to),
               "l"(in + 4 * t), "n"(16) "r"(kept));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
#ifndef NO_BARRIER
  __syncthreads();
#endif
  for (int i = 0; i < 4; i++) {
    out[4 * t + i] = stage[4 * (15 - t) + i];  // EXPECT(NO_BARRIER): shared_memory_race
  }
}

__global__ void handshake(int* data, int* flag, int* sum) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 5;
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef RELAXED
      asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(flag) : "memory");
#else
      store_release(flag, 1);
#endif
    }
  } else {
    if (threadIdx.x == 0) {
      while (load_acquire(flag) == 0) {
      }
    }
    __syncthreads();
    const int seen = data[threadIdx.x];  // EXPECT(RELAXED): data_race
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(sum), "r"(seen) : "memory");
  }
}

__global__ void fenced(int* data, int* flag, int* sum) {
  if (blockIdx.x == 0) {
    *data = 7;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    int old;
    asm volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(flag)
                 : "memory");
  } else {
    int seen = 0;
    do {
      asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!seen);
    asm volatile("membar.gl;" ::: "memory");
    *sum += *data;
  }
}

int main() {
  int *p, host[256];
  CUDA(cudaMalloc(&p, sizeof host));
  CUDA(cudaMemset(p, 0, sizeof host));
  compute<<<2, 64>>>(p);
  CUDA(cudaMemcpy(host, p, sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 0);
  for (int i = 0; i < 256; i++) host[i] = i;
  CUDA(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
  vectors<<<1, 32>>>(reinterpret_cast<int4*>(p), reinterpret_cast<int4*>(p + 128));
  CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[128] == 3 && host[131] == 0 && host[255] == 124);
  staged<<<1, 16>>>(p + 4, p + 128);
  CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
#ifndef NO_BARRIER
  EXPECT(host[128] == 64 && host[129] == 65 && host[130] == 0 && host[131] == 0);
  EXPECT(host[132] == 60 && host[191] == 7);
#endif
  CUDA(cudaMemset(p, 0, sizeof host));
  handshake<<<2, 32>>>(p, p + 64, p + 65);
  fenced<<<2, 1>>>(p + 128, p + 129, p + 130);
  CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[65] == 160 && host[130] == 7);
  CUDA(cudaFree(p));
  return failures != 0;
}
