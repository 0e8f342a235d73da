// Integer, floating-point, cache and clock intrinsics, and the math functions that CUDA adds.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "qualifiers.h"
#include "rounding.h"
#include "simd_intrinsics.h"
#include "vector_types.h"

// --- reinterpretation; conversions are in rounding.h
inline int __float_as_int(float v) { return warploom::bits_as<int>(v); }
inline unsigned __float_as_uint(float v) { return warploom::bits_as<unsigned>(v); }
inline float __int_as_float(int v) { return warploom::bits_as<float>(v); }
inline float __uint_as_float(unsigned v) { return warploom::bits_as<float>(v); }
inline long long __double_as_longlong(double v) { return warploom::bits_as<long long>(v); }
inline double __longlong_as_double(long long v) { return warploom::bits_as<double>(v); }

// --- integers
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
inline int __clzll(long long v) {
  return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64;
}
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  unsigned out = 0;
  for (int i = 0; i < 32; i++) out |= (v >> i & 1u) << (31 - i);
  return out;
}
inline unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned pick = selector >> (4 * i) & 7u;
    out |= static_cast<unsigned>(both >> (8 * pick) & 0xFFu) << (8 * i);
  }
  return out;
}
inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(
      ((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline int __sad(int a, int b, unsigned c) {
  return static_cast<int>((a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                                 : static_cast<unsigned>(b) - static_cast<unsigned>(a)) +
                          c);
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) {
    c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 0xFFu) * (b >> (8 * i) & 0xFFu);
  return c;
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// The n-th set bit from `base`, upwards for a positive and downwards for a negative offset.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return mask >> base & 1 ? base : 0xFFFFFFFFu;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
    if ((mask >> bit & 1) && --left == 0) return static_cast<unsigned>(bit);
  }
  return 0xFFFFFFFFu;
}

// --- floating point
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __expf(float v) { return std::exp(v); }
inline float __exp10f(float v) { return std::pow(10.0f, v); }
inline float __logf(float v) { return std::log(v); }
inline float __log2f(float v) { return std::log2(v); }
inline float __log10f(float v) { return std::log10(v); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __sinf(float v) { return std::sin(v); }
inline float __cosf(float v) { return std::cos(v); }
inline float __tanf(float v) { return std::tan(v); }
inline float __tanhf(float v) { return std::tanh(v); }
inline void __sincosf(float v, float* s, float* c) { *s = std::sin(v), *c = std::cos(v); }
inline float __saturatef(float v) { return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v == v ? v : 0.0f; }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rcbrtf(float v) { return 1.0f / std::cbrt(v); }
inline float sinpif(float v) { return std::sin(v * 3.14159265358979323846f); }
inline float cospif(float v) { return std::cos(v * 3.14159265358979323846f); }
inline double sinpi(double v) { return std::sin(v * 3.14159265358979323846); }
inline double cospi(double v) { return std::cos(v * 3.14159265358979323846); }
inline float normcdff(float v) { return 0.5f * std::erfc(-v * 0.70710678118654752440f); }
inline double normcdf(double v) { return 0.5 * std::erfc(-v * 0.70710678118654752440); }
inline float norm3df(float a, float b, float c) { return std::sqrt(a * a + b * b + c * c); }
inline double norm3d(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }
inline float norm4df(float a, float b, float c, float d) { return std::hypot(norm3df(a, b, c), d); }
inline double norm4d(double a, double b, double c, double d) {
  return std::hypot(norm3d(a, b, c), d);
}
inline float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline float rnorm4df(float a, float b, float c, float d) { return 1.0f / norm4df(a, b, c, d); }
inline float rhypotf(float a, float b) { return 1.0f / std::hypot(a, b); }
inline double rhypot(double a, double b) { return 1.0 / std::hypot(a, b); }
inline double rcbrt(double v) { return 1.0 / std::cbrt(v); }
inline void sincospif(float v, float* s, float* c) { *s = sinpif(v), *c = cospif(v); }
inline void sincospi(double v, double* s, double* c) { *s = sinpi(v), *c = cospi(v); }

inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}

// --- min and max in the global namespace, for mixed arithmetic types
#define WARPLOOM_MIN_MAX(A, B, R)                                                         \
  inline constexpr R min(A a, B b) {                                                      \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  inline constexpr R max(A a, B b) {                                                      \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
  }
WARPLOOM_MIN_MAX(int, int, int)
WARPLOOM_MIN_MAX(unsigned, unsigned, unsigned)
WARPLOOM_MIN_MAX(int, unsigned, unsigned)
WARPLOOM_MIN_MAX(unsigned, int, unsigned)
WARPLOOM_MIN_MAX(long, long, long)
WARPLOOM_MIN_MAX(unsigned long, unsigned long, unsigned long)
WARPLOOM_MIN_MAX(long, unsigned long, unsigned long)
WARPLOOM_MIN_MAX(unsigned long, long, unsigned long)
WARPLOOM_MIN_MAX(long long, long long, long long)
WARPLOOM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WARPLOOM_MIN_MAX(long long, unsigned long long, unsigned long long)
WARPLOOM_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef WARPLOOM_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline double min(float a, double b) { return std::fmin(a, b); }
inline double max(float a, double b) { return std::fmax(a, b); }
inline double min(double a, float b) { return std::fmin(a, b); }
inline double max(double a, float b) { return std::fmax(a, b); }

// --- cache-hinted loads and stores: the hint changes time, not meaning
#define WARPLOOM_LOAD(name) \
  template <class T>        \
  T name(const T* p) {      \
    return *p;              \
  }
WARPLOOM_LOAD(__ldg)
WARPLOOM_LOAD(__ldcg)
WARPLOOM_LOAD(__ldca)
WARPLOOM_LOAD(__ldcs)
WARPLOOM_LOAD(__ldlu)
#undef WARPLOOM_LOAD
template <class T>
T __ldcv(const T* p) {
  return *const_cast<const volatile T*>(p);
}
#define WARPLOOM_STORE(name)                       \
  template <class T>                               \
  void name(T* p, std::type_identity_t<T> value) { \
    *p = value;                                    \
  }
WARPLOOM_STORE(__stcg)
WARPLOOM_STORE(__stcs)
WARPLOOM_STORE(__stwb)
#undef WARPLOOM_STORE
template <class T>
void __stwt(T* p, std::type_identity_t<T> value) {
  *const_cast<volatile T*>(p) = value;
}

// --- clocks, traps, address spaces
inline long long clock64() { return warploom::device_clock(); }
void __nanosleep(unsigned nanoseconds);
[[noreturn]] inline void __trap() { warploom::device_trap(); }
inline void __brkpt() {}
inline void __prof_trigger(int) {}
unsigned __isGlobal(const void* p);
unsigned __isShared(const void* p);
unsigned __isLocal(const void* p);
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
inline size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
inline void* __cvta_shared_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
inline void* __cvta_global_to_generic(size_t p) { return reinterpret_cast<void*>(p); }
