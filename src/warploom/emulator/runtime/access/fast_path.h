// What most accesses of GPU threads need: they make no call, so that their hooks take few
// registers.
#pragma once

#include <cstdint>

#include "access/quick_access.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "schedule/scheduler.h"

#define HOT [[gnu::always_inline]] inline

namespace warploom {

// Live memory that a GPU thread may touch, of its own device or block, or pinned: found where it
// was last.
HOT bool plainly_reachable(const Fiber& self, uintptr_t start, std::size_t bytes) {
  if (in_shared(start)) {
    for (const Block::Hit& hit : self.block->hits) {
      if (start >= hit.start && start + bytes <= hit.end) return true;
    }
    return false;
  }
  const KnownAllocation& known = known_allocation(start);
  return known.holds(start, bytes) && (known.device == self.device ||
                                       (known.device < 0 && known.allocation->is_of(self) &&
                                        (known.device == kOfNoDevice ||
                                         known.allocation->device == self.block->kernel->device)));
}

// Is it an access of a GPU thread to such memory, or a variable? False: it needs the slow path.
// `distance`: see quick_access.
template <bool write>
HOT bool plainly_allowed(const Fiber& self, uintptr_t start, uintptr_t end, uintptr_t& distance) {
  if (plainly_reachable(self, start, end - start)) return true;
  const KnownVariable& variable = known_variable(start);
  distance = variable.distance;
  return variable.holds<write>(start, end);
}

// Memory of the thread's own device, or the shared variable that was accessed last.
template <unsigned bytes, bool aligned>
HOT bool own_memory(uintptr_t start) {
  const uint8_t owner = g_turn.owner;
  if (owner && owner_of_chunk(start) == owner &&
      (aligned || owner_of_chunk(start + bytes - 1) == owner)) {
    return true;
  }
  const Block::Hit& hit = g_turn.block->hits[0];
  return start >= hit.start && start + bytes <= hit.end;
}

// The history of an access that may be made; it lies `distance` bytes before the memory. False: it
// needs the slow path, for all of it.
template <unsigned bytes, bool write>
HOT bool watch_fast(uintptr_t start, uintptr_t distance, const void* return_address) {
  if (!write && may_be_fresh(start)) [[unlikely]]
    return false;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(return_address) - g_turn.program;
  if (offset >= g_turn.program_bytes ||
      !quick_access<bytes, write>(ThreadViewer<AccessPath::Fast>(), start, distance,
                                  static_cast<uint32_t>(offset - 1))) [[unlikely]]
    return false;
  if (write) note_progress();
  return true;
}

}  // namespace warploom
