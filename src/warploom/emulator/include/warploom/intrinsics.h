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
inline int __float_as_int(float _Wv) { return warploom::bits_as<int>(_Wv); }
inline unsigned __float_as_uint(float _Wv) { return warploom::bits_as<unsigned>(_Wv); }
inline float __int_as_float(int _Wv) { return warploom::bits_as<float>(_Wv); }
inline float __uint_as_float(unsigned _Wv) { return warploom::bits_as<float>(_Wv); }
inline long long __double_as_longlong(double _Wv) { return warploom::bits_as<long long>(_Wv); }
inline double __longlong_as_double(long long _Wv) { return warploom::bits_as<double>(_Wv); }

// --- integers
inline int __popc(unsigned _Wv) { return __builtin_popcount(_Wv); }
inline int __popcll(unsigned long long _Wv) { return __builtin_popcountll(_Wv); }
inline int __clz(int _Wv) { return _Wv ? __builtin_clz(static_cast<unsigned>(_Wv)) : 32; }
inline int __clzll(long long _Wv) {
  return _Wv ? __builtin_clzll(static_cast<unsigned long long>(_Wv)) : 64;
}
inline int __ffs(int _Wv) { return __builtin_ffs(_Wv); }
inline int __ffsll(long long _Wv) { return __builtin_ffsll(_Wv); }
inline unsigned __brev(unsigned _Wv) {
  unsigned out = 0;
  for (int _Wi = 0; _Wi < 32; _Wi++) out |= (_Wv >> _Wi & 1u) << (31 - _Wi);
  return out;
}
inline unsigned long long __brevll(unsigned long long _Wv) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(_Wv))) << 32 |
         __brev(static_cast<unsigned>(_Wv >> 32));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (int _Wi = 0; _Wi < 4; _Wi++) {
    const unsigned pick = selector >> (4 * _Wi) & 7u;
    out |= static_cast<unsigned>(both >> (8 * pick) & 0xFFu) << (8 * _Wi);
  }
  return out;
}
inline int __mul24(int _Wa, int _Wb) { return ((_Wa << 8) >> 8) * ((_Wb << 8) >> 8); }
inline unsigned __umul24(unsigned _Wa, unsigned _Wb) {
  return (_Wa & 0xFFFFFFu) * (_Wb & 0xFFFFFFu);
}
inline int __mulhi(int _Wa, int _Wb) {
  return static_cast<int>((static_cast<long long>(_Wa) * _Wb) >> 32);
}
inline unsigned __umulhi(unsigned _Wa, unsigned _Wb) {
  return static_cast<unsigned>((static_cast<unsigned long long>(_Wa) * _Wb) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long _Wa, unsigned long long _Wb) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(_Wa) * _Wb) >> 64);
}
inline long long __mul64hi(long long _Wa, long long _Wb) {
  return static_cast<long long>((static_cast<__int128>(_Wa) * _Wb) >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(
      ((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __usad(unsigned _Wa, unsigned _Wb, unsigned _Wc) {
  return (_Wa > _Wb ? _Wa - _Wb : _Wb - _Wa) + _Wc;
}
inline int __sad(int _Wa, int _Wb, unsigned _Wc) {
  return static_cast<int>((_Wa > _Wb ? static_cast<unsigned>(_Wa) - static_cast<unsigned>(_Wb)
                                     : static_cast<unsigned>(_Wb) - static_cast<unsigned>(_Wa)) +
                          _Wc);
}
inline int __hadd(int _Wa, int _Wb) {
  return static_cast<int>((static_cast<long long>(_Wa) + _Wb) >> 1);
}
inline int __rhadd(int _Wa, int _Wb) {
  return static_cast<int>((static_cast<long long>(_Wa) + _Wb + 1) >> 1);
}
inline unsigned __urhadd(unsigned _Wa, unsigned _Wb) {
  return static_cast<unsigned>((static_cast<unsigned long long>(_Wa) + _Wb + 1) >> 1);
}
inline unsigned __uhadd(unsigned _Wa, unsigned _Wb) {
  return static_cast<unsigned>((static_cast<unsigned long long>(_Wa) + _Wb) >> 1);
}
inline int __dp4a(int _Wa, int _Wb, int _Wc) {
  for (int _Wi = 0; _Wi < 4; _Wi++) {
    _Wc += static_cast<signed char>(_Wa >> (8 * _Wi)) * static_cast<signed char>(_Wb >> (8 * _Wi));
  }
  return _Wc;
}
inline unsigned __dp4a(unsigned _Wa, unsigned _Wb, unsigned _Wc) {
  for (int _Wi = 0; _Wi < 4; _Wi++) _Wc += (_Wa >> (8 * _Wi) & 0xFFu) * (_Wb >> (8 * _Wi) & 0xFFu);
  return _Wc;
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
// Of divisors beyond 2^126 the quick division gives nothing (CUDA C++ Programming Guide).
inline float __fdividef(float _Wa, float _Wb) {
  const float size = std::fabs(_Wb);
  return size > 0x1p126f && size <= 0x1.fffffep127f ? _Wa * 0.0f : _Wa / _Wb;
}
inline float fdividef(float _Wa, float _Wb) { return _Wa / _Wb; }
// The quick functions are made of base-2 powers and logarithms, sine and cosine, which are near in
// absolute terms only (2^-21.4 to 2^-22, CUDA C++ Programming Guide, Intrinsic Functions): next to
// their zeros nothing of the result may be right, and a negative number has no power.
inline float _Wto_2_22(float _Wv) {
  return std::fabs(_Wv) < 2.0f ? std::nearbyint(_Wv * 0x1p22f) * 0x1p-22f : _Wv;
}
inline float __log2f(float _Wv) { return _Wto_2_22(std::log2(_Wv)); }
inline float __logf(float _Wv) { return __log2f(_Wv) * 0.69314718055994530942f; }
inline float __log10f(float _Wv) { return __log2f(_Wv) * 0.30102999566398119521f; }
inline float __expf(float _Wv) { return std::exp2(_Wv * 1.4426950408889634074f); }
inline float __exp10f(float _Wv) { return std::exp2(_Wv * 3.3219280948873623479f); }
inline float __powf(float _Wa, float _Wb) { return std::exp2(_Wb * __log2f(_Wa)); }
inline float __sinf(float _Wv) { return _Wto_2_22(std::sin(_Wv)); }
inline float __cosf(float _Wv) { return _Wto_2_22(std::cos(_Wv)); }
inline float __tanf(float _Wv) { return __sinf(_Wv) / __cosf(_Wv); }
inline float __tanhf(float _Wv) { return std::tanh(_Wv); }
inline void __sincosf(float _Wv, float* _Ws, float* _Wc) { *_Ws = __sinf(_Wv), *_Wc = __cosf(_Wv); }
inline float __saturatef(float _Wv) {
  return _Wv < 0.0f ? 0.0f : _Wv > 1.0f ? 1.0f : _Wv == _Wv ? _Wv : 0.0f;
}
inline float rsqrtf(float _Wv) { return 1.0f / std::sqrt(_Wv); }
inline double rsqrt(double _Wv) { return 1.0 / std::sqrt(_Wv); }
inline float rsqrt(float _Wv) { return rsqrtf(_Wv); }
inline float rcbrtf(float _Wv) { return 1.0f / std::cbrt(_Wv); }
inline float sinpif(float _Wv) { return std::sin(_Wv * 3.14159265358979323846f); }
inline float cospif(float _Wv) { return std::cos(_Wv * 3.14159265358979323846f); }
inline double sinpi(double _Wv) { return std::sin(_Wv * 3.14159265358979323846); }
inline double cospi(double _Wv) { return std::cos(_Wv * 3.14159265358979323846); }
inline float normcdff(float _Wv) { return 0.5f * std::erfc(-_Wv * 0.70710678118654752440f); }
inline double normcdf(double _Wv) { return 0.5 * std::erfc(-_Wv * 0.70710678118654752440); }
inline float norm3df(float _Wa, float _Wb, float _Wc) {
  return std::sqrt(_Wa * _Wa + _Wb * _Wb + _Wc * _Wc);
}
inline double norm3d(double _Wa, double _Wb, double _Wc) {
  return std::sqrt(_Wa * _Wa + _Wb * _Wb + _Wc * _Wc);
}
inline float norm4df(float _Wa, float _Wb, float _Wc, float _Wd) {
  return std::hypot(norm3df(_Wa, _Wb, _Wc), _Wd);
}
inline double norm4d(double _Wa, double _Wb, double _Wc, double _Wd) {
  return std::hypot(norm3d(_Wa, _Wb, _Wc), _Wd);
}
inline float rnorm3df(float _Wa, float _Wb, float _Wc) { return 1.0f / norm3df(_Wa, _Wb, _Wc); }
inline double rnorm3d(double _Wa, double _Wb, double _Wc) { return 1.0 / norm3d(_Wa, _Wb, _Wc); }
inline float rnorm4df(float _Wa, float _Wb, float _Wc, float _Wd) {
  return 1.0f / norm4df(_Wa, _Wb, _Wc, _Wd);
}
inline float rhypotf(float _Wa, float _Wb) { return 1.0f / std::hypot(_Wa, _Wb); }
inline double rhypot(double _Wa, double _Wb) { return 1.0 / std::hypot(_Wa, _Wb); }
inline double rcbrt(double _Wv) { return 1.0 / std::cbrt(_Wv); }
inline void sincospif(float _Wv, float* _Ws, float* _Wc) { *_Ws = sinpif(_Wv), *_Wc = cospif(_Wv); }
inline void sincospi(double _Wv, double* _Ws, double* _Wc) { *_Ws = sinpi(_Wv), *_Wc = cospi(_Wv); }

inline unsigned umin(unsigned _Wa, unsigned _Wb) { return _Wa < _Wb ? _Wa : _Wb; }
inline unsigned umax(unsigned _Wa, unsigned _Wb) { return _Wa < _Wb ? _Wb : _Wa; }
inline long long llmin(long long _Wa, long long _Wb) { return _Wa < _Wb ? _Wa : _Wb; }
inline long long llmax(long long _Wa, long long _Wb) { return _Wa < _Wb ? _Wb : _Wa; }
inline unsigned long long ullmin(unsigned long long _Wa, unsigned long long _Wb) {
  return _Wa < _Wb ? _Wa : _Wb;
}
inline unsigned long long ullmax(unsigned long long _Wa, unsigned long long _Wb) {
  return _Wa < _Wb ? _Wb : _Wa;
}

// --- min and max in the global namespace, for mixed arithmetic types
#define WARPLOOM_MIN_MAX(_WA, _WB, _WR)                                           \
  inline constexpr _WR min(_WA _Wa, _WB _Wb) {                                    \
    return static_cast<_WR>(_Wa) < static_cast<_WR>(_Wb) ? static_cast<_WR>(_Wa)  \
                                                         : static_cast<_WR>(_Wb); \
  }                                                                               \
  inline constexpr _WR max(_WA _Wa, _WB _Wb) {                                    \
    return static_cast<_WR>(_Wa) < static_cast<_WR>(_Wb) ? static_cast<_WR>(_Wb)  \
                                                         : static_cast<_WR>(_Wa); \
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
inline float min(float _Wa, float _Wb) { return std::fmin(_Wa, _Wb); }
inline float max(float _Wa, float _Wb) { return std::fmax(_Wa, _Wb); }
inline double min(double _Wa, double _Wb) { return std::fmin(_Wa, _Wb); }
inline double max(double _Wa, double _Wb) { return std::fmax(_Wa, _Wb); }
inline double min(float _Wa, double _Wb) { return std::fmin(_Wa, _Wb); }
inline double max(float _Wa, double _Wb) { return std::fmax(_Wa, _Wb); }
inline double min(double _Wa, float _Wb) { return std::fmin(_Wa, _Wb); }
inline double max(double _Wa, float _Wb) { return std::fmax(_Wa, _Wb); }

// --- cache-hinted loads and stores: the hint changes time, not meaning
#define WARPLOOM_LOAD(name)  \
  template <class _WT>       \
  _WT name(const _WT* _Wp) { \
    return *_Wp;             \
  }
WARPLOOM_LOAD(__ldcg)
WARPLOOM_LOAD(__ldca)
WARPLOOM_LOAD(__ldcs)
WARPLOOM_LOAD(__ldlu)
#undef WARPLOOM_LOAD
template <class _WT>
_WT __ldg(const _WT* _Wp) {
  warploom::read_only_access(_Wp, sizeof(_WT));
  return *_Wp;
}
template <class _WT>
_WT __ldcv(const _WT* _Wp) {
  return *const_cast<const volatile _WT*>(_Wp);
}
#define WARPLOOM_STORE(name)                             \
  template <class _WT>                                   \
  void name(_WT* _Wp, std::type_identity_t<_WT> value) { \
    *_Wp = value;                                        \
  }
WARPLOOM_STORE(__stcg)
WARPLOOM_STORE(__stcs)
WARPLOOM_STORE(__stwb)
#undef WARPLOOM_STORE
template <class _WT>
void __stwt(_WT* _Wp, std::type_identity_t<_WT> value) {
  *const_cast<volatile _WT*>(_Wp) = value;
}

// --- clocks, traps, address spaces
namespace warploom::ptx {
// An address of the shared state space counts from the start of the block's window; the bits above
// are one more than the rank of another block of the cluster.
std::uint64_t shared_offset(const void* _Wp);
void* shared_address(std::uint64_t address);
}  // namespace warploom::ptx
inline long long clock64() { return warploom::device_clock(); }
void __nanosleep(unsigned nanoseconds);
[[noreturn]] inline void __trap() { warploom::device_trap(); }
inline void __brkpt() {}
inline void __prof_trigger(int) {}
unsigned __isGlobal(const void* _Wp);
unsigned __isShared(const void* _Wp);
unsigned __isLocal(const void* _Wp);
inline size_t __cvta_generic_to_global(const void* _Wp) { return reinterpret_cast<size_t>(_Wp); }
inline size_t __cvta_generic_to_shared(const void* _Wp) {
  return warploom::ptx::shared_offset(_Wp);
}
inline void* __cvta_shared_to_generic(size_t _Wp) { return warploom::ptx::shared_address(_Wp); }
inline void* __cvta_global_to_generic(size_t _Wp) { return reinterpret_cast<void*>(_Wp); }
