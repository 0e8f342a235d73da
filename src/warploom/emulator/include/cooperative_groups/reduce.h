// Reductions over tiles and coalesced groups.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

// In the order of a butterfly where the group is a power of two, as the device does it.
template <class Value, class Operator>
Value reduce(const lane_group& group, Value value, Operator&& combine) {
  const unsigned count = group.num_threads(), rank = group.thread_rank();
  if ((count & (count - 1)) == 0) {
    for (unsigned step = count / 2; step > 0; step /= 2) {
      value = combine(value, group.shfl(value, static_cast<int>(rank ^ step)));
    }
    return value;
  }
  Value result = group.shfl(value, 0);
  for (unsigned other = 1; other < count; other++) {
    result = combine(result, group.shfl(value, static_cast<int>(other)));
  }
  return result;
}

template <unsigned Size, class Parent, class Value, class Operator>
Value reduce(const thread_block_tile<Size, Parent, false>& group, Value value, Operator&& combine,
             int site = WARPLOOM_SITE) {
  return group.combined(value, combine, site);
}

}  // namespace cooperative_groups
