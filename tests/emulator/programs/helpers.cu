// 8-bit floats, barriers and copies of libcu++, warp functions of old CUDA.
#include <cassert>
#include <cmath>
#include <cstdlib>

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp8.h>

#include "expect.h"

static void floats() {
  EXPECT(float(__nv_fp8_e4m3(1.0f)) == 1.0f && float(__nv_fp8_e5m2(1.0f)) == 1.0f);
  EXPECT(__nv_fp8_e4m3(1.0f).__x == 0x38 && __nv_fp8_e5m2(1.0f).__x == 0x3C);
  EXPECT(float(__nv_fp8_e4m3(448.0f)) == 448.0f && float(__nv_fp8_e4m3(1e6f)) == 448.0f);
  EXPECT(float(__nv_fp8_e5m2(57344.0f)) == 57344.0f && float(__nv_fp8_e5m2(-1e9f)) == -57344.0f);
  EXPECT(float(__nv_fp8_e4m3(0.001953125f)) == 0.001953125f);  // the smallest: 2^-9
  EXPECT(float(__nv_fp8_e5m2(0.0000152587890625f)) == 0.0000152587890625f);  // 2^-16
  EXPECT(float(__nv_fp8_e4m3(1.0625f)) == 1.0f && float(__nv_fp8_e4m3(1.1875f)) == 1.25f);
  EXPECT(std::isnan(float(__nv_fp8_e4m3(NAN))) && std::isnan(float(__nv_fp8_e5m2(NAN))));
  EXPECT(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E5M2) == 0x7C);
  // Every number is its own conversion.
  for (int bits = 0; bits < 256; bits++) {
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = static_cast<unsigned char>(bits);
    EXPECT(std::isnan(float(a)) || __nv_fp8_e4m3(float(a)).__x == bits);
    EXPECT(!std::isfinite(float(b)) || __nv_fp8_e5m2(float(b)).__x == bits);
  }
  const float2 both = static_cast<float2>(__nv_fp8x2_e4m3(make_float2(2, -3)));
  EXPECT(both.x == 2 && both.y == -3);
  const __nv_fp8x4_e4m3 four(__floats2half2_rn(1, 2), __floats2half2_rn(3, 1e4f));
  const float4 wide = static_cast<float4>(four);
  EXPECT(wide.x == 1 && wide.y == 2 && wide.z == 3 && wide.w == 448);
  const __nv_fp8x4_e5m2 brain(__floats2bfloat162_rn(-1, 0.5f), __floats2bfloat162_rn(4, 8));
  EXPECT(static_cast<float4>(brain).x == -1 && static_cast<float4>(brain).w == 8);
}

__global__ void phases(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  __shared__ int stage[64];
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  block.sync();
  for (int round = 0; round < 3; round++) {
    cuda::memcpy_async(block, stage, in + 64 * round, sizeof stage, ready);
    ready.arrive_and_wait();
    out[64 * round + threadIdx.x] = stage[63 - threadIdx.x];
    auto token = ready.arrive();
    ready.wait(token);
  }
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&stage[threadIdx.x], in + threadIdx.x, cuda::aligned_size_t<4>(4), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  assert(stage[threadIdx.x] == in[threadIdx.x]);
  pipe.consumer_release();
}

__global__ void old_warps(int* out, cuda::atomic<int>* most) {
  const int t = static_cast<int>(threadIdx.x);
  int sum = t;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down(sum, step);
  if (t == 0) out[0] = sum;
  const unsigned odd = __ballot(t & 1);
  if (t == 1) out[1] = odd == 0xAAAAAAAAu;
  if (t % 4 == 0) {
    const unsigned here = __activemask();
    if (t == 4) out[2] = here == 0x11111111u;
  }
  most->fetch_max(t, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device>(out[3]).fetch_min(-t);
}

int main() {
  floats();
  int *in, *out, host[192];
  CUDA(cudaMalloc(&in, sizeof host));
  CUDA(cudaMalloc(&out, sizeof host));
  for (int i = 0; i < 192; i++) host[i] = i;
  CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  phases<<<1, 64>>>(in, out);
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 63 && host[64] == 127 && host[191] == 128);
  CUDA(cudaMemset(out, 0, sizeof host));
  old_warps<<<1, 32>>>(out, reinterpret_cast<cuda::atomic<int>*>(out + 4));
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 496 && host[1] == 1 && host[2] == 1 && host[3] == -31 && host[4] == 31);
  CUDA(cudaFree(in));
  CUDA(cudaFree(out));
  return failures != 0;
}
