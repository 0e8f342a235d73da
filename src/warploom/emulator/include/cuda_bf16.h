// bfloat16: arithmetic in float, rounded after each operation.
#pragma once

#include <cmath>

#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "warploom/float_bits.h"

struct __attribute__((aligned(2))) __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(__half value) : __nv_bfloat16(static_cast<float>(value)) {}
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  WARPLOOM_ALWAYS_INLINE __nv_bfloat16(N value)
      : bits(warploom::bfloat16_from_float(static_cast<float>(value))) {}
  WARPLOOM_ALWAYS_INLINE operator float() const { return warploom::float_from_bfloat16(bits); }
  WARPLOOM_ALWAYS_INLINE static __nv_bfloat16 from_bits(std::uint16_t b) {
    __nv_bfloat16 value;
    value.bits = b;
    return value;
  }
};

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
inline __half::__half(__nv_bfloat16 value) : __half(static_cast<float>(value)) {}
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline namespace warploom_bf16 {
using warploom_one = __nv_bfloat16;
using warploom_pair = __nv_bfloat162;
#include "warploom/short_float.inc"
}  // namespace warploom_bf16

// --- conversions
inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
inline float __bfloat162float(__nv_bfloat16 v) { return float(v); }
inline __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16(static_cast<float>(v)); }
inline __nv_bfloat16 __int2bfloat16_rn(int v) { return __nv_bfloat16(static_cast<float>(v)); }
inline int __bfloat162int_rn(__nv_bfloat16 v) { return static_cast<int>(std::nearbyint(float(v))); }
inline int __bfloat162int_rz(__nv_bfloat16 v) { return static_cast<int>(float(v)); }
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned v) { return __nv_bfloat16(static_cast<float>(v)); }
inline unsigned __bfloat162uint_rn(__nv_bfloat16 v) {
  return static_cast<unsigned>(std::nearbyint(float(v)));
}
inline unsigned __bfloat162uint_rz(__nv_bfloat16 v) { return static_cast<unsigned>(float(v)); }
inline __nv_bfloat16 __short2bfloat16_rn(short v) { return __nv_bfloat16(static_cast<float>(v)); }
inline short __bfloat162short_rn(__nv_bfloat16 v) {
  return static_cast<short>(std::nearbyint(float(v)));
}
inline short __bfloat162short_rz(__nv_bfloat16 v) { return static_cast<short>(float(v)); }
inline __nv_bfloat16 __ushort2bfloat16_rn(unsigned short v) {
  return __nv_bfloat16(static_cast<float>(v));
}
inline unsigned short __bfloat162ushort_rn(__nv_bfloat16 v) {
  return static_cast<unsigned short>(std::nearbyint(float(v)));
}
inline unsigned short __bfloat162ushort_rz(__nv_bfloat16 v) {
  return static_cast<unsigned short>(float(v));
}
inline __nv_bfloat16 __ll2bfloat16_rn(long long v) { return __nv_bfloat16(static_cast<float>(v)); }
inline long long __bfloat162ll_rn(__nv_bfloat16 v) {
  return static_cast<long long>(std::nearbyint(float(v)));
}
inline long long __bfloat162ll_rz(__nv_bfloat16 v) { return static_cast<long long>(float(v)); }
inline __nv_bfloat16 __ull2bfloat16_rn(unsigned long long v) {
  return __nv_bfloat16(static_cast<float>(v));
}
inline unsigned long long __bfloat162ull_rn(__nv_bfloat16 v) {
  return static_cast<unsigned long long>(std::nearbyint(float(v)));
}
inline unsigned long long __bfloat162ull_rz(__nv_bfloat16 v) {
  return static_cast<unsigned long long>(float(v));
}
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
inline __nv_bfloat162 __float2bfloat162_rn(float v) { return {__nv_bfloat16(v), __nv_bfloat16(v)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 v) { return {v, v}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16::from_bits(v); }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
