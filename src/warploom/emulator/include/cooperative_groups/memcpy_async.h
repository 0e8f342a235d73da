// Copies that the threads of a group make together. They take place at once; only `wait` makes
// them known to the other threads, and the happens-before check holds the program to that.
#pragma once

#include "../cooperative_groups.h"
#include "../warploom/group_copy.h"

namespace cooperative_groups {

template <class Group, class Target, class Source, class Size>
void memcpy_async(const Group& group, Target* target, const Source* source, const Size& bytes) {
  warploom::group_copy(group.thread_rank(), group.num_threads(), target, source,
                       static_cast<std::size_t>(bytes));
}
// Layouts count elements; the shorter one decides.
template <class Group, class _WT, class TargetLayout, class SourceLayout>
void memcpy_async(const Group& group, _WT* target, const TargetLayout& target_count,
                  const _WT* source, const SourceLayout& source_count) {
  const auto to = static_cast<std::size_t>(target_count);
  const auto from = static_cast<std::size_t>(source_count);
  warploom::group_copy(group.thread_rank(), group.num_threads(), target, source,
                       (to < from ? to : from) * sizeof(_WT));
}
template <class Group>
void wait(const Group& group, int site = __builtin_LINE()) {
  group.sync(site);
}
template <unsigned Stages, class Group>
void wait_prior(const Group& group, int site = __builtin_LINE()) {
  group.sync(site);
}

}  // namespace cooperative_groups
