// Conversions and arithmetic whose name says how to round: _rn, _rz, _ru and _rd.
#pragma once

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "qualifiers.h"

namespace warploom {

template <class To, class From>
WARPLOOM_UNCHECKED inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

enum class Rounding { Nearest, Zero, Up, Down };

// To an integer, with what does not fit at the nearest end of its range (PTX ISA, `cvt`).
template <class To, class From>
WARPLOOM_UNCHECKED To to_integer(From value, Rounding mode) {
  if (value != value) return 0;
  const From whole = mode == Rounding::Nearest ? std::nearbyint(value)
                     : mode == Rounding::Zero  ? std::trunc(value)
                     : mode == Rounding::Up    ? std::ceil(value)
                                               : std::floor(value);
  // Both powers of two are exact in either type; the largest integers are not.
  const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
  if (whole >= end) return std::numeric_limits<To>::max();
  if (whole < (std::is_signed_v<To> ? -end : From(0))) return std::numeric_limits<To>::min();
  return static_cast<To>(whole);
}

// `compute` under a rounding mode. Its operands are volatile, so that nothing moves out.
template <class To, class Compute>
WARPLOOM_UNCHECKED To rounded(Rounding mode, Compute&& compute) {
  const int before = std::fegetround();
  std::fesetround(mode == Rounding::Zero ? FE_TOWARDZERO
                  : mode == Rounding::Up ? FE_UPWARD
                                         : FE_DOWNWARD);
  volatile To result = compute();
  std::fesetround(before);
  return result;
}

}  // namespace warploom

#define WARPLOOM_EACH_ROUNDING(make, ...)                                              \
  make(rn, Nearest, __VA_ARGS__) make(rz, Zero, __VA_ARGS__) make(ru, Up, __VA_ARGS__) \
      make(rd, Down, __VA_ARGS__)

#define WARPLOOM_TO_INTEGER(suffix, mode, name, To, From)             \
  WARPLOOM_UNCHECKED inline To __##name##_##suffix(From value) {      \
    return warploom::to_integer<To>(value, warploom::Rounding::mode); \
  }
#define WARPLOOM_TO_FLOAT(suffix, mode, name, To, From)                                        \
  WARPLOOM_UNCHECKED inline To __##name##_##suffix(From value) {                               \
    constexpr auto way = warploom::Rounding::mode;                                             \
    if constexpr (way == warploom::Rounding::Nearest) return static_cast<To>(value);           \
    volatile From input = value;                                                               \
    return warploom::rounded<To>(way,                                                          \
                                 [&]() WARPLOOM_UNCHECKED { return static_cast<To>(input); }); \
  }
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, float2int, int, float)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, float2uint, unsigned, float)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, float2ll, long long, float)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, float2ull, unsigned long long, float)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, double2int, int, double)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, double2uint, unsigned, double)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, double2ll, long long, double)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_INTEGER, double2ull, unsigned long long, double)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, int2float, float, int)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, uint2float, float, unsigned)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, ll2float, float, long long)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, ull2float, float, unsigned long long)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, ll2double, double, long long)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, ull2double, double, unsigned long long)
WARPLOOM_EACH_ROUNDING(WARPLOOM_TO_FLOAT, double2float, float, double)
inline double __int2double_rn(int value) { return value; }
inline double __uint2double_rn(unsigned value) { return value; }
#undef WARPLOOM_TO_INTEGER
#undef WARPLOOM_TO_FLOAT

// `expression` is of a, b and c; unused operands are zero.
#define WARPLOOM_ROUNDED(suffix, mode, name, _WT, parameters, given_b, given_c, expression) \
  WARPLOOM_UNCHECKED inline _WT __##name##_##suffix parameters {                            \
    constexpr auto way = warploom::Rounding::mode;                                          \
    if constexpr (way == warploom::Rounding::Nearest) {                                     \
      [[maybe_unused]] const _WT _Wa = x, _Wb = given_b, _Wc = given_c;                     \
      return expression;                                                                    \
    }                                                                                       \
    volatile _WT first = x, second = given_b, third = given_c;                              \
    return warploom::rounded<_WT>(way, [&]() WARPLOOM_UNCHECKED -> _WT {                    \
      [[maybe_unused]] const _WT _Wa = first, _Wb = second, _Wc = third;                    \
      return expression;                                                                    \
    });                                                                                     \
  }
#define WARPLOOM_ARITHMETIC(_WT, prefix, fused)                                               \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##add, _WT, (_WT x, _WT y), y, 0, _Wa + _Wb) \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##sub, _WT, (_WT x, _WT y), y, 0, _Wa - _Wb) \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##mul, _WT, (_WT x, _WT y), y, 0, _Wa* _Wb)  \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##div, _WT, (_WT x, _WT y), y, 0, _Wa / _Wb) \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##rcp, _WT, (_WT x), 0, 0, _WT(1) / _Wa)     \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##sqrt, _WT, (_WT x), 0, 0, std::sqrt(_Wa))  \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, fused, _WT, (_WT x, _WT y, _WT z), y, z,           \
                         std::fma(_Wa, _Wb, _Wc))
WARPLOOM_ARITHMETIC(float, f, fmaf)
WARPLOOM_ARITHMETIC(double, d, fma)
#undef WARPLOOM_ARITHMETIC
#undef WARPLOOM_ROUNDED
#undef WARPLOOM_EACH_ROUNDING
inline float __frsqrt_rn(float _Wa) { return static_cast<float>(1.0 / std::sqrt(double(_Wa))); }

// --- halves of a double
inline int __double2hiint(double value) {
  return static_cast<int>(warploom::bits_as<unsigned long long>(value) >> 32);
}
inline int __double2loint(double value) {
  return static_cast<int>(warploom::bits_as<unsigned long long>(value));
}
inline double __hiloint2double(int high, int low) {
  return warploom::bits_as<double>(static_cast<unsigned long long>(static_cast<unsigned>(high))
                                       << 32 |
                                   static_cast<unsigned>(low));
}
