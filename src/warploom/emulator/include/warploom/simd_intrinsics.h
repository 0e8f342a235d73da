// Integer arithmetic on the two halfwords or four bytes of a word (CUDA math API, "SIMD
// Intrinsics"), and the fused minimum and maximum forms of compute capability 9.0.
#pragma once

#include <type_traits>

#include "qualifiers.h"

namespace warploom::simd {

template <unsigned Lanes>
using SignedLane = std::conditional_t<Lanes == 2, short, signed char>;
template <unsigned Lanes>
using UnsignedLane = std::conditional_t<Lanes == 2, unsigned short, unsigned char>;

// `function` of the lanes of a, b and c, read as `Lane`; its result is cut to the lane.
template <unsigned Lanes, class Lane, class Function>
WARPLOOM_UNCHECKED unsigned each(unsigned _Wa, unsigned _Wb, unsigned _Wc, Function&& function) {
  constexpr unsigned width = 32 / Lanes;
  constexpr unsigned ones = Lanes == 1 ? ~0u : (1u << width % 32) - 1;
  unsigned result = 0;
  for (unsigned _Wi = 0; _Wi < Lanes; _Wi++) {
    const long long x = static_cast<Lane>(_Wa >> _Wi * width),
                    y = static_cast<Lane>(_Wb >> _Wi * width),
                    z = static_cast<Lane>(_Wc >> _Wi * width);
    result |= (static_cast<unsigned>(function(x, y, z)) & ones) << _Wi * width;
  }
  return result;
}
template <class Lane>
WARPLOOM_UNCHECKED long long clamp(long long value) {
  constexpr long long bits = sizeof(Lane) * 8;
  constexpr long long low = std::is_signed_v<Lane> ? -(1ll << (bits - 1)) : 0;
  constexpr long long high = (1ll << (std::is_signed_v<Lane> ? bits - 1 : bits)) - 1;
  return value < low ? low : value > high ? high : value;
}
WARPLOOM_UNCHECKED inline long long magnitude(long long value) {
  return value < 0 ? -value : value;
}

}  // namespace warploom::simd

#define WARPLOOM_SIMD(name, _WN, Sign, parameters, first, second, expression) \
  inline unsigned __v##name##_WN parameters {                                 \
    using Lane = warploom::simd::Sign##Lane<_WN>;                             \
    return warploom::simd::each<_WN, Lane>(                                   \
        first, second, 0,                                                     \
        [](long long x, [[maybe_unused]] long long y, long long)              \
            WARPLOOM_UNCHECKED -> long long { return expression; });          \
  }
#define WARPLOOM_UNARY(name, Sign, expression)                     \
  WARPLOOM_SIMD(name, 2, Sign, (unsigned _Wa), _Wa, 0, expression) \
  WARPLOOM_SIMD(name, 4, Sign, (unsigned _Wa), _Wa, 0, expression)
#define WARPLOOM_BINARY(name, Sign, expression)                                    \
  WARPLOOM_SIMD(name, 2, Sign, (unsigned _Wa, unsigned _Wb), _Wa, _Wb, expression) \
  WARPLOOM_SIMD(name, 4, Sign, (unsigned _Wa, unsigned _Wb), _Wa, _Wb, expression)
#define WARPLOOM_COMPARE(name, Sign, expression)          \
  WARPLOOM_BINARY(cmp##name, Sign, (expression) ? -1 : 0) \
  WARPLOOM_BINARY(set##name, Sign, (expression) ? 1 : 0)

WARPLOOM_UNARY(abs, Signed, warploom::simd::magnitude(x))
WARPLOOM_UNARY(absss, Signed, warploom::simd::clamp<Lane>(warploom::simd::magnitude(x)))
WARPLOOM_UNARY(neg, Signed, -x)
WARPLOOM_UNARY(negss, Signed, warploom::simd::clamp<Lane>(-x))
WARPLOOM_BINARY(add, Unsigned, x + y)
WARPLOOM_BINARY(addss, Signed, warploom::simd::clamp<Lane>(x + y))
WARPLOOM_BINARY(addus, Unsigned, warploom::simd::clamp<Lane>(x + y))
WARPLOOM_BINARY(sub, Unsigned, x - y)
WARPLOOM_BINARY(subss, Signed, warploom::simd::clamp<Lane>(x - y))
WARPLOOM_BINARY(subus, Unsigned, warploom::simd::clamp<Lane>(x - y))
WARPLOOM_BINARY(avgu, Unsigned, (x + y + 1) / 2)
// Rounded to the nearest, ties away from zero.
WARPLOOM_BINARY(avgs, Signed, (x + y + (x + y >= 0)) >> 1)
WARPLOOM_BINARY(haddu, Unsigned, (x + y) / 2)
WARPLOOM_BINARY(absdiffu, Unsigned, warploom::simd::magnitude(x - y))
WARPLOOM_BINARY(absdiffs, Signed, warploom::simd::magnitude(x - y))
WARPLOOM_BINARY(maxs, Signed, x < y ? y : x)
WARPLOOM_BINARY(maxu, Unsigned, x < y ? y : x)
WARPLOOM_BINARY(mins, Signed, y < x ? y : x)
WARPLOOM_BINARY(minu, Unsigned, y < x ? y : x)
WARPLOOM_COMPARE(eq, Unsigned, x == y)
WARPLOOM_COMPARE(ne, Unsigned, x != y)
WARPLOOM_COMPARE(ges, Signed, x >= y)
WARPLOOM_COMPARE(geu, Unsigned, x >= y)
WARPLOOM_COMPARE(gts, Signed, x > y)
WARPLOOM_COMPARE(gtu, Unsigned, x > y)
WARPLOOM_COMPARE(les, Signed, x <= y)
WARPLOOM_COMPARE(leu, Unsigned, x <= y)
WARPLOOM_COMPARE(lts, Signed, x < y)
WARPLOOM_COMPARE(ltu, Unsigned, x < y)
#undef WARPLOOM_COMPARE
#undef WARPLOOM_BINARY
#undef WARPLOOM_UNARY
#undef WARPLOOM_SIMD

// Sums of the lanes' absolute differences.
#define WARPLOOM_SUM(name, _WN, difference)                                         \
  inline unsigned __v##name##_WN(unsigned _Wa, unsigned _Wb) {                      \
    const unsigned all = difference(_Wa, _Wb);                                      \
    unsigned sum = 0;                                                               \
    for (unsigned _Wi = 0; _Wi < _WN; _Wi++) {                                      \
      sum += static_cast<warploom::simd::UnsignedLane<_WN>>(all >> _Wi * 32 / _WN); \
    }                                                                               \
    return sum;                                                                     \
  }
WARPLOOM_SUM(sads, 2, __vabsdiffs2)
WARPLOOM_SUM(sads, 4, __vabsdiffs4)
WARPLOOM_SUM(sadu, 2, __vabsdiffu2)
WARPLOOM_SUM(sadu, 4, __vabsdiffu4)
#undef WARPLOOM_SUM

// --- minimum and maximum of three, after an addition, against zero, and with the chosen side
#define WARPLOOM_FUSED(name, suffix, _WT, _WN, Lane, parameters, first, second, third, expression) \
  inline _WT __vi##name##_##suffix parameters {                                                    \
    return static_cast<_WT>(warploom::simd::each<_WN, Lane>(                                       \
        static_cast<unsigned>(first), static_cast<unsigned>(second), static_cast<unsigned>(third), \
        []([[maybe_unused]] long long x, [[maybe_unused]] long long y,                             \
           [[maybe_unused]] long long z) WARPLOOM_UNCHECKED -> long long { return expression; })); \
  }
#define WARPLOOM_LEAST(_Wa, _Wb) ((_Wb) < (_Wa) ? (_Wb) : (_Wa))
#define WARPLOOM_MOST(_Wa, _Wb) ((_Wa) < (_Wb) ? (_Wb) : (_Wa))
#define WARPLOOM_SUM_IN(Lane) static_cast<long long>(static_cast<Lane>(x + y))
#define WARPLOOM_FUSED_FORMS(suffix, _WT, _WN, Lane)                                         \
  WARPLOOM_FUSED(max3, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc,   \
                 WARPLOOM_MOST(WARPLOOM_MOST(x, y), z))                                      \
  WARPLOOM_FUSED(min3, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc,   \
                 WARPLOOM_LEAST(WARPLOOM_LEAST(x, y), z))                                    \
  WARPLOOM_FUSED(addmax, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc, \
                 WARPLOOM_MOST(WARPLOOM_SUM_IN(Lane), z))                                    \
  WARPLOOM_FUSED(addmin, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc, \
                 WARPLOOM_LEAST(WARPLOOM_SUM_IN(Lane), z))
#define WARPLOOM_RELU_FORMS(suffix, _WT, _WN, Lane)                                          \
  WARPLOOM_FUSED(max3, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc,   \
                 WARPLOOM_MOST(WARPLOOM_MOST(WARPLOOM_MOST(x, y), z), 0))                    \
  WARPLOOM_FUSED(min3, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc,   \
                 WARPLOOM_MOST(WARPLOOM_LEAST(WARPLOOM_LEAST(x, y), z), 0))                  \
  WARPLOOM_FUSED(addmax, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc, \
                 WARPLOOM_MOST(WARPLOOM_MOST(WARPLOOM_SUM_IN(Lane), z), 0))                  \
  WARPLOOM_FUSED(addmin, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb, _WT _Wc), _Wa, _Wb, _Wc, \
                 WARPLOOM_MOST(WARPLOOM_LEAST(WARPLOOM_SUM_IN(Lane), z), 0))                 \
  WARPLOOM_FUSED(max, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb), _Wa, _Wb, 0,               \
                 WARPLOOM_MOST(WARPLOOM_MOST(x, y), 0))                                      \
  WARPLOOM_FUSED(min, suffix, _WT, _WN, Lane, (_WT _Wa, _WT _Wb), _Wa, _Wb, 0,               \
                 WARPLOOM_MOST(WARPLOOM_LEAST(x, y), 0))
WARPLOOM_FUSED_FORMS(s32, int, 1, int)
WARPLOOM_FUSED_FORMS(u32, unsigned, 1, unsigned)
WARPLOOM_FUSED_FORMS(s16x2, unsigned, 2, short)
WARPLOOM_FUSED_FORMS(u16x2, unsigned, 2, unsigned short)
WARPLOOM_RELU_FORMS(s32_relu, int, 1, int)
WARPLOOM_RELU_FORMS(s16x2_relu, unsigned, 2, short)
#undef WARPLOOM_RELU_FORMS
#undef WARPLOOM_FUSED_FORMS
#undef WARPLOOM_SUM_IN
#undef WARPLOOM_MOST
#undef WARPLOOM_LEAST
#undef WARPLOOM_FUSED

// These also say whether the first operand was chosen; equal ones count as the first.
#define WARPLOOM_CHOICE(name, compare)                                                     \
  inline int __vib##name##_s32(int _Wa, int _Wb, bool* first) {                            \
    return (*first = _Wa compare _Wb) ? _Wa : _Wb;                                         \
  }                                                                                        \
  inline unsigned __vib##name##_u32(unsigned _Wa, unsigned _Wb, bool* first) {             \
    return (*first = _Wa compare _Wb) ? _Wa : _Wb;                                         \
  }                                                                                        \
  inline unsigned __vib##name##_s16x2(unsigned _Wa, unsigned _Wb, bool* high, bool* low) { \
    const auto ah = static_cast<short>(_Wa >> 16), bh = static_cast<short>(_Wb >> 16);     \
    const auto al = static_cast<short>(_Wa), bl = static_cast<short>(_Wb);                 \
    *high = ah compare bh, *low = al compare bl;                                           \
    return ((*high ? _Wa : _Wb) & 0xFFFF0000u) | ((*low ? _Wa : _Wb) & 0xFFFFu);           \
  }                                                                                        \
  inline unsigned __vib##name##_u16x2(unsigned _Wa, unsigned _Wb, bool* high, bool* low) { \
    *high = _Wa >> 16 compare _Wb >> 16, *low = (_Wa & 0xFFFFu) compare(_Wb & 0xFFFFu);    \
    return ((*high ? _Wa : _Wb) & 0xFFFF0000u) | ((*low ? _Wa : _Wb) & 0xFFFFu);           \
  }
WARPLOOM_CHOICE(max, >=)
WARPLOOM_CHOICE(min, <=)
#undef WARPLOOM_CHOICE
