// 8-bit floats: conversions round to nearest even and saturate; arithmetic goes through float.
#pragma once

#include <assert.h>  // which CUDA's own brings, and programs rely on

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "warploom/float8.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT = 0, __NV_SATFINITE = 1 };
enum __nv_fp8_interpretation_t { __NV_E4M3 = 0, __NV_E5M2 = 1 };

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturate,
                                                __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? warploom::float8_from_float<4>(value, saturate == __NV_SATFINITE)
                           : warploom::float8_from_float<5>(value, saturate == __NV_SATFINITE);
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturate,
                                                 __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(static_cast<float>(value), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 value, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(value.x, saturate, kind) |
                                           __nv_cvt_float_to_fp8(value.y, saturate, kind) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw value, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(warploom::float_from_half(value.x), saturate, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t value,
                                          __nv_fp8_interpretation_t kind) {
  const float wide = kind == __NV_E4M3 ? warploom::float_from_float8<4>(value)
                                       : warploom::float_from_float8<5>(value);
  return {warploom::half_from_float(wide)};
}

#define WARPLOOM_FLOAT8(name, bits)                                                              \
  struct name {                                                                                  \
    __nv_fp8_storage_t __x;                                                                      \
    name() = default;                                                                            \
    template <class _WN, std::enable_if_t<std::is_arithmetic_v<_WN>, int> = 0>                   \
    explicit name(_WN value)                                                                     \
        : __x(warploom::float8_from_float<bits>(static_cast<float>(value), true)) {}             \
    explicit name(__half value) : name(static_cast<float>(value)) {}                             \
    explicit name(__nv_bfloat16 value) : name(static_cast<float>(value)) {}                      \
    explicit operator float() const { return warploom::float_from_float8<bits>(__x); }           \
    explicit operator double() const { return static_cast<float>(*this); }                       \
    explicit operator __half() const { return __half(static_cast<float>(*this)); }               \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); } \
    explicit operator bool() const { return (__x & 0x7F) != 0; }                                 \
    explicit operator int() const { return static_cast<int>(static_cast<float>(*this)); }        \
    explicit operator unsigned() const {                                                         \
      return static_cast<unsigned>(static_cast<float>(*this));                                   \
    }                                                                                            \
  };
WARPLOOM_FLOAT8(__nv_fp8_e4m3, 4)
WARPLOOM_FLOAT8(__nv_fp8_e5m2, 5)
#undef WARPLOOM_FLOAT8

#define WARPLOOM_FLOAT8_VECTORS(one, two, four, kind)                                          \
  struct __attribute__((aligned(2))) two {                                                     \
    __nv_fp8x2_storage_t __x;                                                                  \
    two() = default;                                                                           \
    explicit two(float2 value) : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, kind)) {} \
    explicit two(__half2 value) : two(__half22float2(value)) {}                                \
    explicit two(__nv_bfloat162 value) : two(__bfloat1622float2(value)) {}                     \
    explicit operator float2() const {                                                         \
      one low, high;                                                                           \
      low.__x = static_cast<__nv_fp8_storage_t>(__x);                                          \
      high.__x = static_cast<__nv_fp8_storage_t>(__x >> 8);                                    \
      return {static_cast<float>(low), static_cast<float>(high)};                              \
    }                                                                                          \
  };                                                                                           \
  struct __attribute__((aligned(4))) four {                                                    \
    __nv_fp8x4_storage_t __x;                                                                  \
    four() = default;                                                                          \
    explicit four(float4 value)                                                                \
        : __x(two(float2{value.x, value.y}).__x |                                              \
              static_cast<unsigned>(two(float2{value.z, value.w}).__x) << 16) {}               \
    four(__half2 low, __half2 high) : four(__half22float2(low), __half22float2(high)) {}       \
    four(__nv_bfloat162 low, __nv_bfloat162 high)                                              \
        : four(__bfloat1622float2(low), __bfloat1622float2(high)) {}                           \
    explicit operator float4() const {                                                         \
      two low, high;                                                                           \
      low.__x = static_cast<__nv_fp8x2_storage_t>(__x);                                        \
      high.__x = static_cast<__nv_fp8x2_storage_t>(__x >> 16);                                 \
      const float2 _Wa = static_cast<float2>(low), _Wb = static_cast<float2>(high);            \
      return {_Wa.x, _Wa.y, _Wb.x, _Wb.y};                                                     \
    }                                                                                          \
                                                                                               \
   private:                                                                                    \
    four(float2 low, float2 high) : four(float4{low.x, low.y, high.x, high.y}) {}              \
  };
WARPLOOM_FLOAT8_VECTORS(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
WARPLOOM_FLOAT8_VECTORS(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef WARPLOOM_FLOAT8_VECTORS
