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
// The condition of loop `number` held or not in the running thread: after it held, to hold again is
// another turn.
void note_turn(unsigned number, bool held);
// What follows is another case: how near a comparison came is told apart by these.
void next_case();
// The smaller or larger of two values was `first`, `second`, or both where they are equal. `other`
// is the one that was not, and `real` says that their type is one of real numbers.
void note_bound(unsigned number, bool first, bool second, bool constant, bool real, bool least,
                double taken, double other);
// From now on kernels are launched, but do not run: that they can be launched is all that is asked.
void only_launch();
// In this run bound `number` is moved beyond what it would be: whether it is, and that it shall be.
bool is_moved(unsigned number);
void move_bound(unsigned number);

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

// The condition of a loop, which is returned.
template <class _WT>
WARPLOOM_INLINED constexpr bool way_turn(unsigned number, _WT value) {
  const bool held = value ? true : false;
  if (!__builtin_is_constant_evaluated()) note_turn(number, held);
  return held;
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

// A value as another side would bound it that comes before: half as far from zero, or half farther.
template <class _WT>
WARPLOOM_INLINED constexpr _WT moved_value(_WT value, bool least) {
  if constexpr (is_whole<_WT>) {
    const _WT half = static_cast<_WT>(value / 2 < 0 ? -(value / 2) : value / 2);
    _WT found{};
    const bool over = least ? __builtin_sub_overflow(value, half, &found)
                            : __builtin_add_overflow(value, half + 1, &found);
    return over ? value : found;
  } else {
    const float plain = static_cast<float>(value);
    const float half = plain == 0 ? 1 : plain < 0 ? -plain / 2 : plain / 2;
    return static_cast<_WT>(least ? plain - half : plain + half);
  }
}

template <class _WT>
WARPLOOM_INLINED constexpr _WT bound_noted(unsigned number, bool least, _WT a, _WT b, _WT value) {
  const bool first = least ? a <= b : a >= b;
  const bool second = least ? b <= a : b >= a;
  const bool constant = __builtin_constant_p(first) && __builtin_constant_p(second);
  using Plain = std::conditional_t<is_whole<_WT>, _WT, float>;
  note_bound(number, first, second, constant, !is_whole<_WT>, least,
             static_cast<double>(static_cast<Plain>(value)),
             static_cast<double>(static_cast<Plain>(first ? b : a)));
  return first != second && is_moved(number) ? moved_value(value, least) : value;
}

// What `choose` makes of two values: the smaller (`least`) or the larger of them.
template <class _WF, class _WA, class _WB>
WARPLOOM_INLINED constexpr auto bounded(unsigned number, bool least, _WF choose, _WA a, _WB b) {
  auto value = choose(a, b);
  using Value = decltype(value);
  if constexpr (is_whole<Value> || requires { static_cast<float>(value); }) {
    if (!__builtin_is_constant_evaluated())
      return bound_noted<Value>(number, least, static_cast<Value>(a), static_cast<Value>(b), value);
  }
  return value;
}

}  // namespace warploom
