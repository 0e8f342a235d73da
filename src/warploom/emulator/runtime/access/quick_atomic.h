// The way of most atomic and volatile accesses of GPU threads. As in quick_access.h, but what is
// atomic as well is no conflict.
#pragma once

#include <cstdint>

#include "access/quick_access.h"
#include "memory/memory.h"
#include "memory/variables.h"

namespace warploom {

// Are both atomic in the same way, over the same bytes, in the same block or with a scope for all
// blocks of their kernel? That is what most are.
[[gnu::always_inline]] inline bool at_one(Record known, Record record) {
  constexpr uint64_t kSort = atomic_bits(Atomicity(0xF)) | mask_bits(0xF);
  if ((known.bits ^ record.bits) & kSort) return false;
  return known.who == record.who ||
         (known.op() == record.op() && record.atomicity().scope() != Scope::Block);
}

inline bool passes(const SlowViewer& viewer, Record known, Record record, bool is_write) {
  if (at_one(known, record) || viewer.past(known, is_write) || apart(known, record)) return true;
  return known.atomic() && exclude_each_other(known, record);
}

// False: nothing was done.
inline bool quick_atomic_read(Granule& granule, std::size_t cell, const SlowViewer& viewer,
                              Record record) {
  if (!passes(viewer, granule.write.at(cell), record, true)) return false;
  for (Plane& reads : granule.reads) {
    const Record known = reads.at(cell);
    if (!viewer.past(known, false)) continue;
    if (known != record) reads.set(cell, record);
    return true;
  }
  return false;
}

inline bool quick_atomic_write(Granule& granule, std::size_t cell, const SlowViewer& viewer,
                               Record record) {
  const Record known = granule.write.at(cell);
  if (!passes(viewer, known, record, true)) return false;
  // As in quick_write.
  if (known.op() != record.op() && !viewer.past(known, true)) return false;
  for (const Plane& reads : granule.reads) {
    if (!viewer.past(reads.at(cell), false)) return false;
  }
  for (Plane& reads : granule.reads) reads.drop(cell, record.mask());
  if (known != record) granule.write.set(cell, record);
  return true;
}

// Enters an access of the running thread, of up to two words. False: nothing was done.
inline bool quick_atomic(uintptr_t address, unsigned bytes, bool writes, Atomicity atomic,
                         uint32_t pc) {
  uintptr_t start = address;
  if (address - g_places.arena >= g_places.arena_bytes) {
    const KnownVariable& variable = known_variable(address);
    if (!(writes ? variable.holds<true>(address, address + bytes)
                 : variable.holds<false>(address, address + bytes))) {
      return false;
    }
    start -= variable.distance;
  }
  const uintptr_t word = start & ~uintptr_t{3};
  if (start + bytes > word + 4 && (bytes != 8 || start % 8)) return false;
  const SlowViewer viewer;
  Record record = viewer.record(pc);
  record.bits |= atomic_bits(atomic) | mask_bits(bytes_in_word(word, start, start + bytes));
  Granule& granule = granule_of(word);
  const std::size_t cell = word % kGranule / 4;
  const auto enter = [&](std::size_t at) {
    return writes ? quick_atomic_write(granule, at, viewer, record)
                  : quick_atomic_read(granule, at, viewer, record);
  };
  // The second word may be entered again: that changes nothing.
  return enter(cell) && (bytes != 8 || enter(cell + 1));
}

}  // namespace warploom
