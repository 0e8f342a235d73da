// bfloat16: arithmetic in float, rounded after each operation.
#pragma once

#include "cuda_runtime.h"
#include "warploom/float_bits.h"
#include "warploom/packed_halves.h"

struct __attribute__((aligned(2))) __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  template <class N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>
  __nv_bfloat16(N value) : bits(warploom::bfloat16_from_float(static_cast<float>(value))) {}
  operator float() const { return warploom::float_from_bfloat16(bits); }
  static __nv_bfloat16 from_bits(std::uint16_t b) {
    __nv_bfloat16 value;
    value.bits = b;
    return value;
  }
  __nv_bfloat16& operator+=(__nv_bfloat16 other) {
    return *this = __nv_bfloat16(float(*this) + float(other));
  }
  __nv_bfloat16& operator-=(__nv_bfloat16 other) {
    return *this = __nv_bfloat16(float(*this) - float(other));
  }
  __nv_bfloat16& operator*=(__nv_bfloat16 other) {
    return *this = __nv_bfloat16(float(*this) * float(other));
  }
  __nv_bfloat16& operator/=(__nv_bfloat16 other) {
    return *this = __nv_bfloat16(float(*this) / float(other));
  }
  __nv_bfloat16& operator++() { return *this += __nv_bfloat16(1.0f); }
};
inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) + float(b));
}
inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) - float(b));
}
inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) * float(b));
}
inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) / float(b));
}
inline __nv_bfloat16 operator-(__nv_bfloat16 a) {
  return __nv_bfloat16::from_bits(a.bits ^ 0x8000);
}
inline bool operator<(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) < float(b); }
inline bool operator>(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) > float(b); }
inline bool operator<=(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) <= float(b); }
inline bool operator>=(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) >= float(b); }
inline bool operator==(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) == float(b); }
inline bool operator!=(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) != float(b); }

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
inline __nv_bfloat162 operator+(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x + b.x, a.y + b.y};
}
inline __nv_bfloat162& operator+=(__nv_bfloat162& a, __nv_bfloat162 b) { return a = a + b; }
inline __nv_bfloat162 operator-(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x - b.x, a.y - b.y};
}
inline __nv_bfloat162& operator-=(__nv_bfloat162& a, __nv_bfloat162 b) { return a = a - b; }
inline __nv_bfloat162 operator*(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x * b.x, a.y * b.y};
}
inline __nv_bfloat162& operator*=(__nv_bfloat162& a, __nv_bfloat162 b) { return a = a * b; }
inline __nv_bfloat162 operator/(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {a.x / b.x, a.y / b.y};
}
inline __nv_bfloat162& operator/=(__nv_bfloat162& a, __nv_bfloat162 b) { return a = a / b; }
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

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
inline float __low2float(__nv_bfloat162 v) { return float(v.x); }
inline float __high2float(__nv_bfloat162 v) { return float(v.y); }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16::from_bits(v); }

// --- arithmetic and comparison
inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return a + b; }
inline __nv_bfloat16 __hadd_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline __nv_bfloat162 __hadd2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return a + b; }
inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
inline __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) { return a - b; }
inline __nv_bfloat16 __hsub_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
inline __nv_bfloat162 __hsub2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return a - b; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return a * b; }
inline __nv_bfloat16 __hmul_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat162 __hmul2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return a * b; }
inline __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
inline __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return a / b; }
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
inline __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return {-a.x, -a.y}; }
inline __nv_bfloat16 __habs(__nv_bfloat16 a) { return __nv_bfloat16::from_bits(a.bits & 0x7FFF); }
inline __nv_bfloat162 __habs2(__nv_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __nv_bfloat16(static_cast<float>(double(float(a)) * float(b) + float(c)));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmax(float(a), float(b)));
}
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmin(float(a), float(b)));
}
inline __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
inline __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
inline bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return a == b; }
inline bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a != b; }
inline bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b; }
inline bool __hle(__nv_bfloat16 a, __nv_bfloat16 b) { return a <= b; }
inline bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return a > b; }
inline bool __hge(__nv_bfloat16 a, __nv_bfloat16 b) { return a >= b; }
inline bool __hisnan(__nv_bfloat16 a) { return std::isnan(float(a)); }
inline int __hisinf(__nv_bfloat16 a) { return std::isinf(float(a)); }
inline __nv_bfloat16 hexp(__nv_bfloat16 a) { return __nv_bfloat16(std::exp(float(a))); }
inline __nv_bfloat16 hlog(__nv_bfloat16 a) { return __nv_bfloat16(std::log(float(a))); }
inline __nv_bfloat16 hsqrt(__nv_bfloat16 a) { return __nv_bfloat16(std::sqrt(float(a))); }
inline __nv_bfloat16 hsin(__nv_bfloat16 a) { return __nv_bfloat16(std::sin(float(a))); }
inline __nv_bfloat16 hcos(__nv_bfloat16 a) { return __nv_bfloat16(std::cos(float(a))); }
inline __nv_bfloat16 hfloor(__nv_bfloat16 a) { return __nv_bfloat16(std::floor(float(a))); }
inline __nv_bfloat16 hceil(__nv_bfloat16 a) { return __nv_bfloat16(std::ceil(float(a))); }
inline __nv_bfloat16 htrunc(__nv_bfloat16 a) { return __nv_bfloat16(std::trunc(float(a))); }
inline __nv_bfloat16 hexp2(__nv_bfloat16 a) { return __nv_bfloat16(std::exp2(float(a))); }
inline __nv_bfloat16 hlog2(__nv_bfloat16 a) { return __nv_bfloat16(std::log2(float(a))); }
inline __nv_bfloat16 hlog10(__nv_bfloat16 a) { return __nv_bfloat16(std::log10(float(a))); }
inline __nv_bfloat16 hrsqrt(__nv_bfloat16 a) { return __nv_bfloat16(1.0f / std::sqrt(float(a))); }
inline __nv_bfloat16 hrcp(__nv_bfloat16 a) { return __nv_bfloat16(1.0f / float(a)); }
inline __nv_bfloat16 hrint(__nv_bfloat16 a) { return __nv_bfloat16(std::nearbyint(float(a))); }

WARPLOOM_PACKED(__nv_bfloat16, __nv_bfloat162)
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
