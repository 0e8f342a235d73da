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
WARPLOOM_UNCHECKED unsigned each(unsigned a, unsigned b, unsigned c, Function&& function) {
  constexpr unsigned width = 32 / Lanes;
  constexpr unsigned ones = Lanes == 1 ? ~0u : (1u << width % 32) - 1;
  unsigned result = 0;
  for (unsigned i = 0; i < Lanes; i++) {
    const long long x = static_cast<Lane>(a >> i * width), y = static_cast<Lane>(b >> i * width),
                    z = static_cast<Lane>(c >> i * width);
    result |= (static_cast<unsigned>(function(x, y, z)) & ones) << i * width;
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

#define WARPLOOM_SIMD(name, N, Sign, parameters, first, second, expression) \
  inline unsigned __v##name##N parameters {                                 \
    using Lane = warploom::simd::Sign##Lane<N>;                             \
    return warploom::simd::each<N, Lane>(                                   \
        first, second, 0,                                                   \
        [](long long x, [[maybe_unused]] long long y, long long)            \
            WARPLOOM_UNCHECKED -> long long { return expression; });        \
  }
#define WARPLOOM_UNARY(name, Sign, expression)                 \
  WARPLOOM_SIMD(name, 2, Sign, (unsigned a), a, 0, expression) \
  WARPLOOM_SIMD(name, 4, Sign, (unsigned a), a, 0, expression)
#define WARPLOOM_BINARY(name, Sign, expression)                            \
  WARPLOOM_SIMD(name, 2, Sign, (unsigned a, unsigned b), a, b, expression) \
  WARPLOOM_SIMD(name, 4, Sign, (unsigned a, unsigned b), a, b, expression)
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
#define WARPLOOM_SUM(name, N, difference)                                     \
  inline unsigned __v##name##N(unsigned a, unsigned b) {                      \
    const unsigned all = difference(a, b);                                    \
    unsigned sum = 0;                                                         \
    for (unsigned i = 0; i < N; i++) {                                        \
      sum += static_cast<warploom::simd::UnsignedLane<N>>(all >> i * 32 / N); \
    }                                                                         \
    return sum;                                                               \
  }
WARPLOOM_SUM(sads, 2, __vabsdiffs2)
WARPLOOM_SUM(sads, 4, __vabsdiffs4)
WARPLOOM_SUM(sadu, 2, __vabsdiffu2)
WARPLOOM_SUM(sadu, 4, __vabsdiffu4)
#undef WARPLOOM_SUM

// --- minimum and maximum of three, after an addition, against zero, and with the chosen side
#define WARPLOOM_FUSED(name, suffix, T, N, Lane, parameters, first, second, third, expression)     \
  inline T __vi##name##_##suffix parameters {                                                      \
    return static_cast<T>(warploom::simd::each<N, Lane>(                                           \
        static_cast<unsigned>(first), static_cast<unsigned>(second), static_cast<unsigned>(third), \
        []([[maybe_unused]] long long x, [[maybe_unused]] long long y,                             \
           [[maybe_unused]] long long z) WARPLOOM_UNCHECKED -> long long { return expression; })); \
  }
#define WARPLOOM_LEAST(a, b) ((b) < (a) ? (b) : (a))
#define WARPLOOM_MOST(a, b) ((a) < (b) ? (b) : (a))
#define WARPLOOM_SUM_IN(Lane) static_cast<long long>(static_cast<Lane>(x + y))
#define WARPLOOM_FUSED_FORMS(suffix, T, N, Lane)                       \
  WARPLOOM_FUSED(max3, suffix, T, N, Lane, (T a, T b, T c), a, b, c,   \
                 WARPLOOM_MOST(WARPLOOM_MOST(x, y), z))                \
  WARPLOOM_FUSED(min3, suffix, T, N, Lane, (T a, T b, T c), a, b, c,   \
                 WARPLOOM_LEAST(WARPLOOM_LEAST(x, y), z))              \
  WARPLOOM_FUSED(addmax, suffix, T, N, Lane, (T a, T b, T c), a, b, c, \
                 WARPLOOM_MOST(WARPLOOM_SUM_IN(Lane), z))              \
  WARPLOOM_FUSED(addmin, suffix, T, N, Lane, (T a, T b, T c), a, b, c, \
                 WARPLOOM_LEAST(WARPLOOM_SUM_IN(Lane), z))
#define WARPLOOM_RELU_FORMS(suffix, T, N, Lane)                              \
  WARPLOOM_FUSED(max3, suffix, T, N, Lane, (T a, T b, T c), a, b, c,         \
                 WARPLOOM_MOST(WARPLOOM_MOST(WARPLOOM_MOST(x, y), z), 0))    \
  WARPLOOM_FUSED(min3, suffix, T, N, Lane, (T a, T b, T c), a, b, c,         \
                 WARPLOOM_MOST(WARPLOOM_LEAST(WARPLOOM_LEAST(x, y), z), 0))  \
  WARPLOOM_FUSED(addmax, suffix, T, N, Lane, (T a, T b, T c), a, b, c,       \
                 WARPLOOM_MOST(WARPLOOM_MOST(WARPLOOM_SUM_IN(Lane), z), 0))  \
  WARPLOOM_FUSED(addmin, suffix, T, N, Lane, (T a, T b, T c), a, b, c,       \
                 WARPLOOM_MOST(WARPLOOM_LEAST(WARPLOOM_SUM_IN(Lane), z), 0)) \
  WARPLOOM_FUSED(max, suffix, T, N, Lane, (T a, T b), a, b, 0,               \
                 WARPLOOM_MOST(WARPLOOM_MOST(x, y), 0))                      \
  WARPLOOM_FUSED(min, suffix, T, N, Lane, (T a, T b), a, b, 0,               \
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
#define WARPLOOM_CHOICE(name, compare)                                                 \
  inline int __vib##name##_s32(int a, int b, bool* first) {                            \
    return (*first = a compare b) ? a : b;                                             \
  }                                                                                    \
  inline unsigned __vib##name##_u32(unsigned a, unsigned b, bool* first) {             \
    return (*first = a compare b) ? a : b;                                             \
  }                                                                                    \
  inline unsigned __vib##name##_s16x2(unsigned a, unsigned b, bool* high, bool* low) { \
    const auto ah = static_cast<short>(a >> 16), bh = static_cast<short>(b >> 16);     \
    const auto al = static_cast<short>(a), bl = static_cast<short>(b);                 \
    *high = ah compare bh, *low = al compare bl;                                       \
    return ((*high ? a : b) & 0xFFFF0000u) | ((*low ? a : b) & 0xFFFFu);               \
  }                                                                                    \
  inline unsigned __vib##name##_u16x2(unsigned a, unsigned b, bool* high, bool* low) { \
    *high = a >> 16 compare b >> 16, *low = (a & 0xFFFFu) compare(b & 0xFFFFu);        \
    return ((*high ? a : b) & 0xFFFF0000u) | ((*low ? a : b) & 0xFFFFu);               \
  }
WARPLOOM_CHOICE(max, >=)
WARPLOOM_CHOICE(min, <=)
#undef WARPLOOM_CHOICE
