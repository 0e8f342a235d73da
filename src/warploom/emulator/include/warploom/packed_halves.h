// What both 16-bit types have in pairs: comparisons, lane by lane functions, and other orders.
#pragma once

#include <cmath>

#define WARPLOOM_PACKED_COMPARE(One, Pair, name, operation)                              \
  inline Pair __h##name##2(Pair a, Pair b) {                                             \
    return {One(a.x operation b.x ? 1.0f : 0.0f), One(a.y operation b.y ? 1.0f : 0.0f)}; \
  }                                                                                      \
  inline bool __hb##name##2(Pair a, Pair b) { return a.x operation b.x && a.y operation b.y; }
#define WARPLOOM_PACKED_EACH(Pair, name) \
  inline Pair h2##name(Pair a) { return {h##name(a.x), h##name(a.y)}; }
#define WARPLOOM_PACKED(One, Pair)                                               \
  WARPLOOM_PACKED_COMPARE(One, Pair, eq, ==)                                     \
  WARPLOOM_PACKED_COMPARE(One, Pair, ne, !=)                                     \
  WARPLOOM_PACKED_COMPARE(One, Pair, lt, <)                                      \
  WARPLOOM_PACKED_COMPARE(One, Pair, le, <=)                                     \
  WARPLOOM_PACKED_COMPARE(One, Pair, gt, >)                                      \
  WARPLOOM_PACKED_COMPARE(One, Pair, ge, >=)                                     \
  WARPLOOM_PACKED_EACH(Pair, exp)                                                \
  WARPLOOM_PACKED_EACH(Pair, exp2)                                               \
  WARPLOOM_PACKED_EACH(Pair, log)                                                \
  WARPLOOM_PACKED_EACH(Pair, log2)                                               \
  WARPLOOM_PACKED_EACH(Pair, log10)                                              \
  WARPLOOM_PACKED_EACH(Pair, sqrt)                                               \
  WARPLOOM_PACKED_EACH(Pair, rsqrt)                                              \
  WARPLOOM_PACKED_EACH(Pair, rcp)                                                \
  WARPLOOM_PACKED_EACH(Pair, sin)                                                \
  WARPLOOM_PACKED_EACH(Pair, cos)                                                \
  WARPLOOM_PACKED_EACH(Pair, floor)                                              \
  WARPLOOM_PACKED_EACH(Pair, ceil)                                               \
  WARPLOOM_PACKED_EACH(Pair, trunc)                                              \
  WARPLOOM_PACKED_EACH(Pair, rint)                                               \
  inline Pair __hisnan2(Pair a) {                                                \
    return {One(__hisnan(a.x) ? 1.0f : 0.0f), One(__hisnan(a.y) ? 1.0f : 0.0f)}; \
  }                                                                              \
  inline Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }
