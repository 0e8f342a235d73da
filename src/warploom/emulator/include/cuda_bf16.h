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
  template <class _WN, std::enable_if_t<std::is_arithmetic_v<_WN>, int> = 0>
  WARPLOOM_ALWAYS_INLINE __nv_bfloat16(_WN value)
      : bits(warploom::bfloat16_from_float(static_cast<float>(value))) {}
  WARPLOOM_ALWAYS_INLINE operator float() const { return warploom::float_from_bfloat16(bits); }
  WARPLOOM_ALWAYS_INLINE static __nv_bfloat16 from_bits(std::uint16_t _Wb) {
    __nv_bfloat16 value;
    value.bits = _Wb;
    return value;
  }
};

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 _Wa, __nv_bfloat16 _Wb) : x(_Wa), y(_Wb) {}
};
inline __half::__half(__nv_bfloat16 value) : __half(static_cast<float>(value)) {}
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

template <>
inline constexpr bool warploom::kShortNumber<__nv_bfloat16> = true;
template <>
inline constexpr bool warploom::kShortNumber<__nv_bfloat162> = true;

inline namespace warploom_bf16 {
using warploom_one = __nv_bfloat16;
using warploom_pair = __nv_bfloat162;
#include "warploom/short_float.inc"
}  // namespace warploom_bf16

// --- conversions
inline __nv_bfloat16 __float2bfloat16(float _Wv) { return __nv_bfloat16(_Wv); }
inline __nv_bfloat16 __float2bfloat16_rn(float _Wv) { return __nv_bfloat16(_Wv); }
inline float __bfloat162float(__nv_bfloat16 _Wv) { return float(_Wv); }
inline __nv_bfloat16 __double2bfloat16(double _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline __nv_bfloat16 __int2bfloat16_rn(int _Wv) { return __nv_bfloat16(static_cast<float>(_Wv)); }
inline int __bfloat162int_rn(__nv_bfloat16 _Wv) {
  return static_cast<int>(std::nearbyint(float(_Wv)));
}
inline int __bfloat162int_rz(__nv_bfloat16 _Wv) { return static_cast<int>(float(_Wv)); }
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline unsigned __bfloat162uint_rn(__nv_bfloat16 _Wv) {
  return static_cast<unsigned>(std::nearbyint(float(_Wv)));
}
inline unsigned __bfloat162uint_rz(__nv_bfloat16 _Wv) { return static_cast<unsigned>(float(_Wv)); }
inline __nv_bfloat16 __short2bfloat16_rn(short _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline short __bfloat162short_rn(__nv_bfloat16 _Wv) {
  return static_cast<short>(std::nearbyint(float(_Wv)));
}
inline short __bfloat162short_rz(__nv_bfloat16 _Wv) { return static_cast<short>(float(_Wv)); }
inline __nv_bfloat16 __ushort2bfloat16_rn(unsigned short _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline unsigned short __bfloat162ushort_rn(__nv_bfloat16 _Wv) {
  return static_cast<unsigned short>(std::nearbyint(float(_Wv)));
}
inline unsigned short __bfloat162ushort_rz(__nv_bfloat16 _Wv) {
  return static_cast<unsigned short>(float(_Wv));
}
inline __nv_bfloat16 __ll2bfloat16_rn(long long _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline long long __bfloat162ll_rn(__nv_bfloat16 _Wv) {
  return static_cast<long long>(std::nearbyint(float(_Wv)));
}
inline long long __bfloat162ll_rz(__nv_bfloat16 _Wv) { return static_cast<long long>(float(_Wv)); }
inline __nv_bfloat16 __ull2bfloat16_rn(unsigned long long _Wv) {
  return __nv_bfloat16(static_cast<float>(_Wv));
}
inline unsigned long long __bfloat162ull_rn(__nv_bfloat16 _Wv) {
  return static_cast<unsigned long long>(std::nearbyint(float(_Wv)));
}
inline unsigned long long __bfloat162ull_rz(__nv_bfloat16 _Wv) {
  return static_cast<unsigned long long>(float(_Wv));
}
inline __nv_bfloat162 __floats2bfloat162_rn(float _Wa, float _Wb) {
  return {__nv_bfloat16(_Wa), __nv_bfloat16(_Wb)};
}
inline __nv_bfloat162 __float2bfloat162_rn(float _Wv) {
  return {__nv_bfloat16(_Wv), __nv_bfloat16(_Wv)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 _Wv) {
  return {__nv_bfloat16(_Wv.x), __nv_bfloat16(_Wv.y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 _Wv) { return {float(_Wv.x), float(_Wv.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 _Wv) { return {_Wv, _Wv}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 _Wa, __nv_bfloat16 _Wb) {
  return {_Wa, _Wb};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 _Wv) { return _Wv.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 _Wv) { return _Wv.y; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 _Wa, __nv_bfloat16 _Wb) { return {_Wa, _Wb}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 _Wv) { return _Wv.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short _Wv) {
  return __nv_bfloat16::from_bits(_Wv);
}
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 _Wa) { return {_Wa.x, _Wa.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 _Wa) { return {_Wa.y, _Wa.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 _Wa, __nv_bfloat162 _Wb) {
  return {_Wa.x, _Wb.x};
}
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 _Wa, __nv_bfloat162 _Wb) {
  return {_Wa.y, _Wb.y};
}

// On the bits: a class would be copied with hooks of its own.
WARPLOOM_DEVICE_INLINE __nv_bfloat16 atomicAdd(__nv_bfloat16* _Waddress, __nv_bfloat16 _Wvalue) {
  const unsigned short _Wold =
      warploom::read_modify_write(&_Waddress->bits, warploom::Scope::Device,
                                  [=](unsigned short _Wbits) WARPLOOM_UNCHECKED -> unsigned short {
                                    return (__nv_bfloat16::from_bits(_Wbits) + _Wvalue).bits;
                                  });
  return __nv_bfloat16::from_bits(_Wold);
}
// Each element is atomic by itself.
WARPLOOM_DEVICE_INLINE __nv_bfloat162 atomicAdd(__nv_bfloat162* _Waddress, __nv_bfloat162 _Wvalue) {
  return {atomicAdd(&_Waddress->x, _Wvalue.x), atomicAdd(&_Waddress->y, _Wvalue.y)};
}

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFF)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7F)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80)
