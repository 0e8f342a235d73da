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
#define WARPLOOM_ROUNDED(suffix, mode, name, T, parameters, given_b, given_c, expression) \
  WARPLOOM_UNCHECKED inline T __##name##_##suffix parameters {                            \
    constexpr auto way = warploom::Rounding::mode;                                        \
    if constexpr (way == warploom::Rounding::Nearest) {                                   \
      [[maybe_unused]] const T a = x, b = given_b, c = given_c;                           \
      return expression;                                                                  \
    }                                                                                     \
    volatile T first = x, second = given_b, third = given_c;                              \
    return warploom::rounded<T>(way, [&]() WARPLOOM_UNCHECKED -> T {                      \
      [[maybe_unused]] const T a = first, b = second, c = third;                          \
      return expression;                                                                  \
    });                                                                                   \
  }
#define WARPLOOM_ARITHMETIC(T, prefix, fused)                                          \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##add, T, (T x, T y), y, 0, a + b)    \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##sub, T, (T x, T y), y, 0, a - b)    \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##mul, T, (T x, T y), y, 0, a* b)     \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##div, T, (T x, T y), y, 0, a / b)    \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##rcp, T, (T x), 0, 0, T(1) / a)      \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, prefix##sqrt, T, (T x), 0, 0, std::sqrt(a)) \
  WARPLOOM_EACH_ROUNDING(WARPLOOM_ROUNDED, fused, T, (T x, T y, T z), y, z, std::fma(a, b, c))
WARPLOOM_ARITHMETIC(float, f, fmaf)
WARPLOOM_ARITHMETIC(double, d, fma)
#undef WARPLOOM_ARITHMETIC
#undef WARPLOOM_ROUNDED
#undef WARPLOOM_EACH_ROUNDING
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / std::sqrt(double(a))); }

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
