// Prefix sums over tiles and coalesced groups.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class Value, class Operator>
Value inclusive_scan(const lane_group& group, Value value, Operator&& combine) {
  const unsigned count = group.num_threads(), rank = group.thread_rank();
  for (unsigned step = 1; step < count; step *= 2) {
    const Value before = group.shfl_up(value, step);
    if (rank >= step) value = combine(before, value);
  }
  return value;
}
template <class Value>
Value inclusive_scan(const lane_group& group, Value value) {
  return inclusive_scan(group, value, plus<Value>());
}

// The first member gets `Value()`, which is the sum of nothing.
template <class Value, class Operator>
Value exclusive_scan(const lane_group& group, Value value, Operator&& combine) {
  const Value upto = inclusive_scan(group, value, combine);
  const Value before = group.shfl_up(upto, 1);
  return group.thread_rank() == 0 ? Value() : before;
}
template <class Value>
Value exclusive_scan(const lane_group& group, Value value) {
  return exclusive_scan(group, value, plus<Value>());
}

}  // namespace cooperative_groups
