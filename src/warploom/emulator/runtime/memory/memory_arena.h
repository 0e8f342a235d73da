// The addresses of one space, and who has them.
#pragma once

#include <cstdint>
#include <map>

#include "memory/memory.h"

namespace warploom {

// Freed allocations stay known, for reports, until their addresses are used again.
struct Arena {
  uintptr_t base = 0, top = 0, end = 0;
  std::size_t capacity = 0, used = 0;
  std::map<uintptr_t, Allocation> allocations;

  // The allocation that starts at `p` or nearest before it, live or freed; nullptr if none does.
  Allocation* at_or_before(uintptr_t p);
  // Addresses for `span` bytes that nobody has had so far; 0 if there are not as many.
  uintptr_t take_untouched(std::size_t span, std::size_t align);
  // Addresses of one or several freed neighbors, which are known no more; 0 if there are none.
  uintptr_t take_freed(std::size_t span, std::size_t align);
};

// The arena of an address, or nullptr; and that of the first device.
Arena* arena_of(const void* p);
Arena* first_device_arena();
// The allocation that holds `p`, or was the last to hold it; nullptr: there is none.
Allocation* find_in(Arena& arena, uintptr_t p);

}  // namespace warploom
