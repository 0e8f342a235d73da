// Reductions over tiles and coalesced groups.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

// What lanes give each other on their way to a result of `Operator`: no other reduction's.
template <class Operator, class Value>
Value reduced_with(const lane_group& group, Value value, unsigned rank) {
  constexpr unsigned kind = ::warploom::mark_of<Operator>() << 1;
  return ::warploom::shuffle(group.lanes(), value, details::lane_of(group.lanes(), rank),
                             ::warploom::of_kind(::warploom::WarpOperation::Shuffle, kind));
}

// In the order of a butterfly where the group is a power of two, as the device does it.
template <class Value, class Operator>
Value reduce(const lane_group& group, Value value, Operator&& combine) {
  const unsigned count = group.num_threads(), rank = group.thread_rank();
  if ((count & (count - 1)) == 0) {
    for (unsigned step = count / 2; step > 0; step /= 2) {
      value = combine(value, reduced_with<Operator>(group, value, rank ^ step));
    }
    return value;
  }
  Value result = reduced_with<Operator>(group, value, 0);
  for (unsigned other = 1; other < count; other++) {
    result = combine(result, reduced_with<Operator>(group, value, other));
  }
  return result;
}

template <unsigned Size, class Parent, class Value, class Operator>
Value reduce(const thread_block_tile<Size, Parent, false>& group, Value value, Operator&& combine,
             int site = WARPLOOM_SITE) {
  return group.combined(value, combine, site);
}

}  // namespace cooperative_groups
