// Conversions and arithmetic by rounding, SIMD intrinsics, the compiler's atomics, complex numbers.
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if __has_include(<omp.h>)
#include <omp.h>
#endif

#include <climits>
#include <cmath>

#include "expect.h"

__device__ int failed;
#define DEVICE_EXPECT(condition)                              \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("line %d: expected %s\n", __LINE__, #condition); \
      atomicAdd(&failed, 1);                                  \
    }                                                         \
  } while (0)

__global__ void conversions() {
  DEVICE_EXPECT(__float2int_rn(2.5f) == 2 && __float2int_rn(3.5f) == 4);
  DEVICE_EXPECT(__float2int_rz(-2.7f) == -2 && __float2int_ru(-2.7f) == -2);
  DEVICE_EXPECT(__float2int_rd(-2.1f) == -3 && __float2int_rd(2.9f) == 2);
  // What does not fit saturates, and what is no number is zero.
  DEVICE_EXPECT(__float2int_rz(1e20f) == INT_MAX && __float2uint_rz(-1.0f) == 0);
  DEVICE_EXPECT(__double2ull_rd(1e30) == ULLONG_MAX && __float2ll_rn(NAN) == 0);
  const int big = (1 << 24) + 1;  // between two floats
  DEVICE_EXPECT(__int2float_rz(big) == 16777216.0f && __int2float_ru(big) == 16777218.0f);
  DEVICE_EXPECT(__int2float_rd(-big) == -16777218.0f && __int2float_rz(-big) == -16777216.0f);
  DEVICE_EXPECT(__ull2double_rd(ULLONG_MAX) < 18446744073709551616.0);
  DEVICE_EXPECT(__double2float_ru(1.0 + 1e-12) > 1.0f && __double2float_rn(1.0 + 1e-12) == 1.0f);
  DEVICE_EXPECT(__hiloint2double(__double2hiint(-1.25), __double2loint(-1.25)) == -1.25);
  // One third lies between two neighbors.
  DEVICE_EXPECT(__fdiv_rd(1.0f, 3.0f) < __fdiv_ru(1.0f, 3.0f));
  DEVICE_EXPECT(__drcp_rd(3.0) < __drcp_ru(3.0) && __drcp_rn(4.0) == 0.25);
  DEVICE_EXPECT(__fadd_ru(1.0f, 1e-20f) > 1.0f && __fadd_rz(1.0f, 1e-20f) == 1.0f);
  DEVICE_EXPECT(__fsub_rd(1.0f, 1e-20f) < 1.0f && __dsqrt_rn(2.25) == 1.5);
  DEVICE_EXPECT(__fmaf_ru(1.0f, 1.0f, 1e-20f) > 1.0f);
}

__global__ void simd() {
  DEVICE_EXPECT(__vadd4(0x01FF7F80u, 0x01017F01u) == 0x0200FE81u);
  DEVICE_EXPECT(__vaddus4(0x01FF7F80u, 0x01017F01u) == 0x02FFFE81u);
  DEVICE_EXPECT(__vaddss2(0x7FFF8000u, 0x0001FFFFu) == 0x7FFF8000u);
  DEVICE_EXPECT(__vsubus2(0x00010005u, 0x00020003u) == 0x00000002u);
  DEVICE_EXPECT(__vmaxs4(0x80FF017Fu, 0x00000000u) == 0x0000017Fu);
  DEVICE_EXPECT(__vmaxu4(0x80FF017Fu, 0x00000000u) == 0x80FF017Fu);
  DEVICE_EXPECT(__vabsss2(0x8000FFFFu) == 0x7FFF0001u && __vabs2(0x8000FFFFu) == 0x80000001u);
  DEVICE_EXPECT(__vavgu4(0x00010203u, 0x01010101u) == 0x01010202u);
  DEVICE_EXPECT(__vavgs2(0xFFFFFFFEu, 0x00010001u) == 0x0000FFFFu);
  DEVICE_EXPECT(__vhaddu2(0xFFFF0003u, 0xFFFF0002u) == 0xFFFF0002u);
  DEVICE_EXPECT(__vcmpeq4(0x01020304u, 0x01FF03FFu) == 0xFF00FF00u);
  DEVICE_EXPECT(__vsetgts2(0x0001FFFFu, 0x00000000u) == 0x00010000u);
  DEVICE_EXPECT(__vsadu4(0x01020304u, 0x04030201u) == 8);
  DEVICE_EXPECT(__vimax3_s32(-3, 2, 1) == 2 && __vimin3_s32_relu(-3, 2, 1) == 0);
  DEVICE_EXPECT(__viaddmax_s16x2(0x0001FFFFu, 0x00010001u, 0xFFFF0005u) == 0x00020005u);
  bool high = false, low = false;
  DEVICE_EXPECT(__vibmax_s16x2(0x0001FFFFu, 0xFFFF0005u, &high, &low) == 0x00010005u);
  DEVICE_EXPECT(high && !low);
  DEVICE_EXPECT(__hadd(-3, 2) == -1 && __rhadd(-3, 2) == 0);
  DEVICE_EXPECT(__funnelshift_lc(1, 2, 40) == 1 && __funnelshift_rc(1, 2, 40) == 2);
}

__global__ void halves() {
  const __half2 a = __floats2half2_rn(1, 4), b = __floats2half2_rn(2, 4);
  const __half2 more = __hgt2(b, a), root = h2sqrt(__lowhigh2highlow(a));
  DEVICE_EXPECT(__low2float(more) == 1 && __high2float(more) == 0 && !__hbgt2(b, a));
  DEVICE_EXPECT(__low2float(root) == 2 && __high2float(root) == 1 && __hbge2(b, a));
  const __nv_bfloat162 c = {__float2bfloat16(8), __float2bfloat16(2)};
  const __nv_bfloat162 exponent = h2log2(__high2bfloat162(c));
  DEVICE_EXPECT(float(exponent.x) == 1 && __hbeq2(exponent, __lows2bfloat162(exponent, exponent)));
  const __half2 negative = -a;
  DEVICE_EXPECT(__low2float(negative) == -1 && __high2float(negative) == -4);
  DEVICE_EXPECT(__high2float(h2tanh_approx(__float2half2_rn(20.0f))) == 1);
  // A half holds no 65536; a bfloat16 holds seven bits behind the point.
  DEVICE_EXPECT(std::isinf(float(__half(__float2bfloat16(65536.0f)))));
  DEVICE_EXPECT(float(__nv_bfloat16(__float2half(1.0009765625f))) == 1);
}

// Shifts in the size of a shared array keep their meaning.
template <class T>
__global__ void shifted(T* out) {
  __shared__ T both[(16 + 2) << 1];
  DEVICE_EXPECT(sizeof both == 36 * sizeof(T));
  both[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = both[35 - threadIdx.x];
}

// A flag passed on by the compiler's atomics.
__global__ void hand_over(int* flag, int* data) {
  if (blockIdx.x == 0) {
    *data = 7;
#ifdef RELAXED_FLAG
    __nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
    __nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
#endif
  } else {
    while (__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) {
    }
    const int got = *data;  // EXPECT(RELAXED_FLAG): data_race
    DEVICE_EXPECT(got == 7);
  }
}
__global__ void counts(float* sum, unsigned* most) {
  __nv_atomic_fetch_add(sum, 0.5f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  unsigned seen = __nv_atomic_load_n(most, __NV_ATOMIC_RELAXED);
  while (seen < threadIdx.x &&
         !__nv_atomic_compare_exchange_n(most, &seen, threadIdx.x, false, __NV_ATOMIC_RELAXED,
                                         __NV_ATOMIC_RELAXED)) {
  }
}

__global__ void complex_numbers() {
  const cuDoubleComplex a = make_cuDoubleComplex(3, 4), b = make_cuDoubleComplex(0, 2);
  const cuDoubleComplex product = cuCmul(a, b), quotient = cuCdiv(product, b);
  DEVICE_EXPECT(cuCabs(a) == 5 && cuCreal(product) == -8 && cuCimag(product) == 6);
  DEVICE_EXPECT(std::fabs(quotient.x - 3) < 1e-12 && std::fabs(quotient.y - 4) < 1e-12);
  const cuComplex c = cuCsubf(make_cuComplex(1, 1), cuConjf(make_cuFloatComplex(0, 1)));
  DEVICE_EXPECT(cuCrealf(c) == 1 && cuCimagf(c) == 2);
}

int main() {
  int *flag, *data;
  CUDA(cudaMalloc(&flag, 256));
  CUDA(cudaMemset(flag, 0, 256));
  data = flag + 32;
  conversions<<<1, 1>>>();
  simd<<<1, 1>>>();
  halves<<<1, 1>>>();
  complex_numbers<<<1, 1>>>();
  shifted<<<1, 36>>>(reinterpret_cast<short*>(data + 1));
  hand_over<<<2, 1>>>(flag, data);
  counts<<<1, 64>>>(reinterpret_cast<float*>(flag + 1), reinterpret_cast<unsigned*>(flag + 2));
  float sum = 0;
  unsigned most = 0;
  CUDA(cudaMemcpy(&sum, flag + 1, sizeof sum, cudaMemcpyDeviceToHost));
  CUDA(cudaMemcpy(&most, flag + 2, sizeof most, cudaMemcpyDeviceToHost));
  EXPECT(sum == 32 && most == 63);
#if __has_include(<omp.h>)
  // Pragmas are not read: one thread, which OpenMP allows.
  int team = 0;
  omp_set_num_threads(4);
#pragma omp parallel reduction(+ : team)
  team += omp_get_num_threads() + omp_get_thread_num();
  EXPECT(team == 1 && omp_get_wtime() >= 0);
#endif
  int wrong = 0;
  CUDA(cudaMemcpyFromSymbol(&wrong, failed, sizeof wrong));
  EXPECT(wrong == 0);
  CUDA(cudaFree(flag));
  return failures;
}
