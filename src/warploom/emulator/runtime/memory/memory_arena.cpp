#include "memory/memory_arena.h"

#include <iterator>

#include "base/check.h"

namespace warploom {

namespace {

uintptr_t aligned(uintptr_t address, std::size_t align) {
  return (address + align - 1) / align * align;
}

// What a graph's launches free is theirs to take again at the same place. Windows know theirs.
bool is_free(const Allocation& allocation) {
  return !allocation.live && !allocation.of_graph && !allocation.windows;
}

}  // namespace

Allocation* Arena::at_or_before(uintptr_t p) {
  const auto it = allocations.upper_bound(p);
  return it == allocations.begin() ? nullptr : &std::prev(it)->second;
}

uintptr_t Arena::take_untouched(std::size_t span, std::size_t align) {
  const uintptr_t start = aligned(top, align);
  if (start + span > end) return 0;
  top = start + span;
  WARPLOOM_INVARIANT(top <= end && start >= base);
  return start;
}

uintptr_t Arena::take_freed(std::size_t span, std::size_t align) {
  auto first = allocations.begin();
  while (first != allocations.end()) {
    auto next = std::next(first);
    if (is_free(first->second)) {
      const uintptr_t start = aligned(first->first, align);
      // The gap behind an allocation is its own.
      while (next != allocations.end() && next->first < start + span && is_free(next->second)) {
        ++next;
      }
      const uintptr_t limit = next == allocations.end() ? top : next->first;
      if (start + span <= limit) {
        allocations.erase(first, next);
        return start;
      }
    }
    first = next;
  }
  return 0;
}

}  // namespace warploom
