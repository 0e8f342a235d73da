// Half precision: arithmetic in float, rounded after each operation.
#pragma once

#include <cmath>

#include "cuda_runtime.h"
#include "warploom/float_bits.h"

struct __nv_bfloat16;

struct __attribute__((aligned(2))) __half {
  std::uint16_t bits;
  __half() = default;
  explicit __half(__nv_bfloat16 value);  // in cuda_bf16.h
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  WARPLOOM_ALWAYS_INLINE __half(N value)
      : bits(warploom::half_from_float(static_cast<float>(value))) {}
  WARPLOOM_ALWAYS_INLINE operator float() const { return warploom::float_from_half(bits); }
  WARPLOOM_ALWAYS_INLINE static __half from_bits(std::uint16_t b) {
    __half value;
    value.bits = b;
    return value;
  }
};

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half half;
typedef __half2 half2;
struct __half_raw {
  unsigned short x;
};

inline namespace warploom_fp16 {
using warploom_one = __half;
using warploom_pair = __half2;
#include "warploom/short_float.inc"
}  // namespace warploom_fp16

// --- conversions
inline __half __float2half(float v) { return __half(v); }
inline __half __float2half_rn(float v) { return __half(v); }
inline float __half2float(__half v) { return float(v); }
inline __half __double2half(double v) { return __half(static_cast<float>(v)); }
inline __half __int2half_rn(int v) { return __half(static_cast<float>(v)); }
inline int __half2int_rn(__half v) { return static_cast<int>(std::nearbyint(float(v))); }
inline int __half2int_rz(__half v) { return static_cast<int>(float(v)); }
inline __half __uint2half_rn(unsigned v) { return __half(static_cast<float>(v)); }
inline unsigned __half2uint_rn(__half v) { return static_cast<unsigned>(std::nearbyint(float(v))); }
inline unsigned __half2uint_rz(__half v) { return static_cast<unsigned>(float(v)); }
inline __half __short2half_rn(short v) { return __half(static_cast<float>(v)); }
inline short __half2short_rn(__half v) { return static_cast<short>(std::nearbyint(float(v))); }
inline short __half2short_rz(__half v) { return static_cast<short>(float(v)); }
inline __half __ushort2half_rn(unsigned short v) { return __half(static_cast<float>(v)); }
inline unsigned short __half2ushort_rn(__half v) {
  return static_cast<unsigned short>(std::nearbyint(float(v)));
}
inline unsigned short __half2ushort_rz(__half v) { return static_cast<unsigned short>(float(v)); }
inline __half __ll2half_rn(long long v) { return __half(static_cast<float>(v)); }
inline long long __half2ll_rn(__half v) { return static_cast<long long>(std::nearbyint(float(v))); }
inline long long __half2ll_rz(__half v) { return static_cast<long long>(float(v)); }
inline __half __ull2half_rn(unsigned long long v) { return __half(static_cast<float>(v)); }
inline unsigned long long __half2ull_rn(__half v) {
  return static_cast<unsigned long long>(std::nearbyint(float(v)));
}
inline unsigned long long __half2ull_rz(__half v) {
  return static_cast<unsigned long long>(float(v));
}
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half2 __half2half2(__half v) { return {v, v}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline __half __ushort_as_half(unsigned short v) { return __half::from_bits(v); }
inline short __half_as_short(__half v) { return static_cast<short>(v.bits); }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
