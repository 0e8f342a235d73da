// Which ways the conditions of a text take. What watches a program (watched builds of `synthesize`)
// puts these around its conditions; no program may name them itself.
#pragma once

#include "device.h"

namespace warploom {

// Condition `number` held or not, which is returned; `constant`: the compiler knows that it can do
// nothing else here. As it does not see what is returned, it learns nothing for later conditions.
bool note_way(unsigned number, bool held, bool constant);
// A comparison of whole numbers came within `steps` of turning out otherwise.
void note_steps(unsigned number, unsigned long long steps);
// What follows is another case: how near a comparison came is told apart by these.
void next_case();

WARPLOOM_INLINED constexpr bool way_noted(unsigned number, bool held) {
  if (__builtin_is_constant_evaluated()) return held;
  if (!__builtin_constant_p(held)) return note_way(number, held, false);
  note_way(number, held, true);
  return held;
}

template <class _WT>
WARPLOOM_INLINED constexpr bool way(unsigned number, _WT value) {
  return way_noted(number, value ? true : false);
}

WARPLOOM_INLINED constexpr void reached(unsigned number) {
  if (!__builtin_is_constant_evaluated()) note_way(number, true, false);
}

// The value of a switch with `labels`, numbered from `number` on; the last number is no label's.
template <class _WT, class... _WLabels>
WARPLOOM_INLINED constexpr _WT switched(unsigned number, _WT value, _WLabels... labels) {
  if (__builtin_is_constant_evaluated()) return value;
  const bool constant = __builtin_constant_p(value);
  bool found = false;
  ((value == static_cast<_WT>(labels) ? (found = true, note_way(number, true, constant)) : false,
    ++number),
   ...);
  if (!found) note_way(number, true, constant);
  return value;
}

template <class _WT>
inline constexpr bool is_whole = false;
template <>
inline constexpr bool is_whole<char> = true;
template <>
inline constexpr bool is_whole<signed char> = true;
template <>
inline constexpr bool is_whole<unsigned char> = true;
template <>
inline constexpr bool is_whole<short> = true;
template <>
inline constexpr bool is_whole<unsigned short> = true;
template <>
inline constexpr bool is_whole<int> = true;
template <>
inline constexpr bool is_whole<unsigned> = true;
template <>
inline constexpr bool is_whole<long> = true;
template <>
inline constexpr bool is_whole<unsigned long> = true;
template <>
inline constexpr bool is_whole<long long> = true;
template <>
inline constexpr bool is_whole<unsigned long long> = true;

// `less`: whether lower < upper or, with `more` of 1, lower <= upper.
template <class _WA, class _WB>
WARPLOOM_INLINED constexpr void steps_noted(unsigned number, _WA lower, _WB upper, bool less,
                                            unsigned more) {
  if constexpr (is_whole<_WA> && is_whole<_WB>) {
    if (__builtin_is_constant_evaluated()) return;
    const auto low = static_cast<unsigned long long>(lower);
    const auto high = static_cast<unsigned long long>(upper);
    note_steps(number, less ? high - low - 1 + more : low - high - more);
  }
}

template <class _WA, class _WB>
WARPLOOM_INLINED constexpr bool way_lt(unsigned number, _WA a, _WB b) {
  const bool held = a < b;
  steps_noted(number, a, b, held, 0);
  return way_noted(number, held);
}
template <class _WA, class _WB>
WARPLOOM_INLINED constexpr bool way_le(unsigned number, _WA a, _WB b) {
  const bool held = a <= b;
  steps_noted(number, a, b, held, 1);
  return way_noted(number, held);
}
template <class _WA, class _WB>
WARPLOOM_INLINED constexpr bool way_gt(unsigned number, _WA a, _WB b) {
  const bool held = a > b;
  steps_noted(number, b, a, held, 0);
  return way_noted(number, held);
}
template <class _WA, class _WB>
WARPLOOM_INLINED constexpr bool way_ge(unsigned number, _WA a, _WB b) {
  const bool held = a >= b;
  steps_noted(number, b, a, held, 1);
  return way_noted(number, held);
}

}  // namespace warploom
