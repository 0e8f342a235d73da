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
  template <class _WN, std::enable_if_t<std::is_arithmetic_v<_WN>, int> = 0>
  WARPLOOM_ALWAYS_INLINE __half(_WN value)
      : bits(warploom::half_from_float(static_cast<float>(value))) {}
  WARPLOOM_ALWAYS_INLINE operator float() const { return warploom::float_from_half(bits); }
  WARPLOOM_ALWAYS_INLINE static __half from_bits(std::uint16_t _Wb) {
    __half value;
    value.bits = _Wb;
    return value;
  }
};

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half _Wa, __half _Wb) : x(_Wa), y(_Wb) {}
};
typedef __half half;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half2 half2;
struct __half_raw {
  unsigned short x;
};

template <>
inline constexpr bool warploom::kShortNumber<__half> = true;
template <>
inline constexpr bool warploom::kShortNumber<__half2> = true;

inline namespace warploom_fp16 {
using warploom_one = __half;
using warploom_pair = __half2;
#include "warploom/short_float.inc"
}  // namespace warploom_fp16

// --- conversions
inline __half __float2half(float _Wv) { return __half(_Wv); }
inline __half __float2half_rn(float _Wv) { return __half(_Wv); }
inline float __half2float(__half _Wv) { return float(_Wv); }
inline __half __double2half(double _Wv) { return __half(static_cast<float>(_Wv)); }
inline __half __int2half_rn(int _Wv) { return __half(static_cast<float>(_Wv)); }
inline int __half2int_rn(__half _Wv) { return static_cast<int>(std::nearbyint(float(_Wv))); }
inline int __half2int_rz(__half _Wv) { return static_cast<int>(float(_Wv)); }
inline __half __uint2half_rn(unsigned _Wv) { return __half(static_cast<float>(_Wv)); }
inline unsigned __half2uint_rn(__half _Wv) {
  return static_cast<unsigned>(std::nearbyint(float(_Wv)));
}
inline unsigned __half2uint_rz(__half _Wv) { return static_cast<unsigned>(float(_Wv)); }
inline __half __short2half_rn(short _Wv) { return __half(static_cast<float>(_Wv)); }
inline short __half2short_rn(__half _Wv) { return static_cast<short>(std::nearbyint(float(_Wv))); }
inline short __half2short_rz(__half _Wv) { return static_cast<short>(float(_Wv)); }
inline __half __ushort2half_rn(unsigned short _Wv) { return __half(static_cast<float>(_Wv)); }
inline unsigned short __half2ushort_rn(__half _Wv) {
  return static_cast<unsigned short>(std::nearbyint(float(_Wv)));
}
inline unsigned short __half2ushort_rz(__half _Wv) {
  return static_cast<unsigned short>(float(_Wv));
}
inline __half __ll2half_rn(long long _Wv) { return __half(static_cast<float>(_Wv)); }
inline long long __half2ll_rn(__half _Wv) {
  return static_cast<long long>(std::nearbyint(float(_Wv)));
}
inline long long __half2ll_rz(__half _Wv) { return static_cast<long long>(float(_Wv)); }
inline __half __ull2half_rn(unsigned long long _Wv) { return __half(static_cast<float>(_Wv)); }
inline unsigned long long __half2ull_rn(__half _Wv) {
  return static_cast<unsigned long long>(std::nearbyint(float(_Wv)));
}
inline unsigned long long __half2ull_rz(__half _Wv) {
  return static_cast<unsigned long long>(float(_Wv));
}
inline __half2 __floats2half2_rn(float _Wa, float _Wb) { return {__half(_Wa), __half(_Wb)}; }
inline __half2 __float2half2_rn(float _Wv) { return {__half(_Wv), __half(_Wv)}; }
inline __half2 __float22half2_rn(float2 _Wv) { return {__half(_Wv.x), __half(_Wv.y)}; }
inline float2 __half22float2(__half2 _Wv) { return {float(_Wv.x), float(_Wv.y)}; }
inline __half2 __half2half2(__half _Wv) { return {_Wv, _Wv}; }
inline __half2 __halves2half2(__half _Wa, __half _Wb) { return {_Wa, _Wb}; }
inline __half __low2half(__half2 _Wv) { return _Wv.x; }
inline __half __high2half(__half2 _Wv) { return _Wv.y; }
inline __half2 make_half2(__half _Wa, __half _Wb) { return {_Wa, _Wb}; }
inline unsigned short __half_as_ushort(__half _Wv) { return _Wv.bits; }
inline __half __ushort_as_half(unsigned short _Wv) { return __half::from_bits(_Wv); }
inline short __half_as_short(__half _Wv) { return static_cast<short>(_Wv.bits); }
inline __half2 __low2half2(__half2 _Wa) { return {_Wa.x, _Wa.x}; }
inline __half2 __high2half2(__half2 _Wa) { return {_Wa.y, _Wa.y}; }
inline __half2 __lows2half2(__half2 _Wa, __half2 _Wb) { return {_Wa.x, _Wb.x}; }
inline __half2 __highs2half2(__half2 _Wa, __half2 _Wb) { return {_Wa.y, _Wb.y}; }

// On the bits: a class would be copied with hooks of its own.
WARPLOOM_DEVICE_INLINE __half atomicAdd(__half* _Waddress, __half _Wvalue) {
  const unsigned short _Wold =
      warploom::read_modify_write(&_Waddress->bits, warploom::Scope::Device,
                                  [=](unsigned short _Wbits) WARPLOOM_UNCHECKED -> unsigned short {
                                    return (__half::from_bits(_Wbits) + _Wvalue).bits;
                                  });
  return __half::from_bits(_Wold);
}
// Each element is atomic by itself.
WARPLOOM_DEVICE_INLINE __half2 atomicAdd(__half2* _Waddress, __half2 _Wvalue) {
  return {atomicAdd(&_Waddress->x, _Wvalue.x), atomicAdd(&_Waddress->y, _Wvalue.y)};
}

#define CUDART_INF_FP16 __ushort_as_half(0x7C00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFF)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFF)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00)
