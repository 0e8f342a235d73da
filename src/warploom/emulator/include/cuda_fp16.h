// Half precision: arithmetic in float, rounded after each operation.
#pragma once

#include "cuda_runtime.h"
#include "warploom/float_bits.h"
#include "warploom/packed_halves.h"

struct __attribute__((aligned(2))) __half {
  std::uint16_t bits;
  __half() = default;
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  __half(N value) : bits(warploom::half_from_float(static_cast<float>(value))) {}
  operator float() const { return warploom::float_from_half(bits); }
  static __half from_bits(std::uint16_t b) {
    __half value;
    value.bits = b;
    return value;
  }
  __half& operator+=(__half other) { return *this = __half(float(*this) + float(other)); }
  __half& operator-=(__half other) { return *this = __half(float(*this) - float(other)); }
  __half& operator*=(__half other) { return *this = __half(float(*this) * float(other)); }
  __half& operator/=(__half other) { return *this = __half(float(*this) / float(other)); }
  __half& operator++() { return *this += __half(1.0f); }
};
inline __half operator+(__half a, __half b) { return __half(float(a) + float(b)); }
inline __half operator-(__half a, __half b) { return __half(float(a) - float(b)); }
inline __half operator*(__half a, __half b) { return __half(float(a) * float(b)); }
inline __half operator/(__half a, __half b) { return __half(float(a) / float(b)); }
inline __half operator-(__half a) { return __half::from_bits(a.bits ^ 0x8000); }
inline bool operator<(__half a, __half b) { return float(a) < float(b); }
inline bool operator>(__half a, __half b) { return float(a) > float(b); }
inline bool operator<=(__half a, __half b) { return float(a) <= float(b); }
inline bool operator>=(__half a, __half b) { return float(a) >= float(b); }
inline bool operator==(__half a, __half b) { return float(a) == float(b); }
inline bool operator!=(__half a, __half b) { return float(a) != float(b); }

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half a, __half b) : x(a), y(b) {}
};
inline __half2 operator+(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
inline __half2& operator+=(__half2& a, __half2 b) { return a = a + b; }
inline __half2 operator-(__half2 a, __half2 b) { return {a.x - b.x, a.y - b.y}; }
inline __half2& operator-=(__half2& a, __half2 b) { return a = a - b; }
inline __half2 operator*(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
inline __half2& operator*=(__half2& a, __half2 b) { return a = a * b; }
inline __half2 operator/(__half2 a, __half2 b) { return {a.x / b.x, a.y / b.y}; }
inline __half2& operator/=(__half2& a, __half2 b) { return a = a / b; }
typedef __half half;
typedef __half2 half2;
struct __half_raw {
  unsigned short x;
};

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
inline float __low2float(__half2 v) { return float(v.x); }
inline float __high2float(__half2 v) { return float(v.y); }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline __half __ushort_as_half(unsigned short v) { return __half::from_bits(v); }
inline short __half_as_short(__half v) { return static_cast<short>(v.bits); }

// --- arithmetic and comparison
inline __half __hadd(__half a, __half b) { return a + b; }
inline __half2 __hadd2(__half2 a, __half2 b) { return a + b; }
inline __half __hadd_rn(__half a, __half b) { return a + b; }
inline __half2 __hadd2_rn(__half2 a, __half2 b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half2 __hsub2(__half2 a, __half2 b) { return a - b; }
inline __half __hsub_rn(__half a, __half b) { return a - b; }
inline __half2 __hsub2_rn(__half2 a, __half2 b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half2 __hmul2(__half2 a, __half2 b) { return a * b; }
inline __half __hmul_rn(__half a, __half b) { return a * b; }
inline __half2 __hmul2_rn(__half2 a, __half2 b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half2 __h2div(__half2 a, __half2 b) { return a / b; }
inline __half __hneg(__half a) { return -a; }
inline __half2 __hneg2(__half2 a) { return {-a.x, -a.y}; }
inline __half __habs(__half a) { return __half::from_bits(a.bits & 0x7FFF); }
inline __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
inline __half __hfma(__half a, __half b, __half c) {
  return __half(static_cast<float>(double(float(a)) * float(b) + float(c)));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __half __hmax(__half a, __half b) { return __half(std::fmax(float(a), float(b))); }
inline __half __hmin(__half a, __half b) { return __half(std::fmin(float(a), float(b))); }
inline __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
inline __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
inline bool __heq(__half a, __half b) { return a == b; }
inline bool __hne(__half a, __half b) { return a != b; }
inline bool __hlt(__half a, __half b) { return a < b; }
inline bool __hle(__half a, __half b) { return a <= b; }
inline bool __hgt(__half a, __half b) { return a > b; }
inline bool __hge(__half a, __half b) { return a >= b; }
inline bool __hisnan(__half a) { return std::isnan(float(a)); }
inline int __hisinf(__half a) { return std::isinf(float(a)); }
inline __half hexp(__half a) { return __half(std::exp(float(a))); }
inline __half hlog(__half a) { return __half(std::log(float(a))); }
inline __half hsqrt(__half a) { return __half(std::sqrt(float(a))); }
inline __half hsin(__half a) { return __half(std::sin(float(a))); }
inline __half hcos(__half a) { return __half(std::cos(float(a))); }
inline __half hfloor(__half a) { return __half(std::floor(float(a))); }
inline __half hceil(__half a) { return __half(std::ceil(float(a))); }
inline __half htrunc(__half a) { return __half(std::trunc(float(a))); }
inline __half hexp2(__half a) { return __half(std::exp2(float(a))); }
inline __half hlog2(__half a) { return __half(std::log2(float(a))); }
inline __half hlog10(__half a) { return __half(std::log10(float(a))); }
inline __half hrsqrt(__half a) { return __half(1.0f / std::sqrt(float(a))); }
inline __half hrcp(__half a) { return __half(1.0f / float(a)); }
inline __half hrint(__half a) { return __half(std::nearbyint(float(a))); }

WARPLOOM_PACKED(__half, __half2)
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
