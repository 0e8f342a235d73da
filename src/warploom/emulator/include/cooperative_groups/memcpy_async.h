// Copies that the threads of a group make together: each thread commits its part as a group of
// cp.async, and `wait` waits for that and for the other threads.
#pragma once

#include "../cooperative_groups.h"
#include "../warploom/group_copy.h"

namespace cooperative_groups {

namespace detail {
inline void copy_part(std::size_t rank, std::size_t threads, void* target, const void* source,
                      std::size_t bytes) {
  if (!warploom::group_copy_later(rank, threads, target, source, bytes)) {
    warploom::group_copy(rank, threads, target, source, bytes);
  }
  warploom::copies_commit();
}
}  // namespace detail

template <class Group, class Target, class Source, class Size>
void memcpy_async(const Group& group, Target* target, const Source* source, const Size& bytes) {
  detail::copy_part(group.thread_rank(), group.num_threads(), target, source,
                    static_cast<std::size_t>(bytes));
}
// Layouts count elements; the shorter one decides.
template <class Group, class _WT, class TargetLayout, class SourceLayout>
void memcpy_async(const Group& group, _WT* target, const TargetLayout& target_count,
                  const _WT* source, const SourceLayout& source_count) {
  const auto to = static_cast<std::size_t>(target_count);
  const auto from = static_cast<std::size_t>(source_count);
  detail::copy_part(group.thread_rank(), group.num_threads(), target, source,
                    (to < from ? to : from) * sizeof(_WT));
}
template <class Group>
void wait(const Group& group, int site = WARPLOOM_SITE) {
  warploom::copies_wait(0);
  group.sync(site);
}
template <unsigned Stages, class Group>
void wait_prior(const Group& group, int site = WARPLOOM_SITE) {
  warploom::copies_wait(Stages);
  group.sync(site);
}

}  // namespace cooperative_groups
