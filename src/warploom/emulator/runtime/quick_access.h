// The way of most accesses: what this thread, an earlier interval of its block or an operation that
// has ended left in the history needs no clock. Everything else goes to race.cpp.
#pragma once

#include <algorithm>
#include <utility>

#include "equal_stores.h"
#include "history.h"
#include "kernel.h"
#include "learnt.h"
#include "world.h"

namespace warploom {

// A GPU thread as it looks at the history.
class ThreadViewer {
 public:
  explicit ThreadViewer(const GpuThread& thread)
      : self_(thread),
        block_(*thread.block),
        who_(Record::who_is(block_.op, block_.number)),
        base_(block_.base),
        thread_(static_cast<uint16_t>(thread.linear)) {}

  // Is there nothing to say of this record? False: it needs a closer look.
  [[gnu::always_inline]] bool past(Record record, bool is_write) const {
    if (record.who == who_) return record.thread() == thread_ || record.time() < base_;
    if (record.op() == 0) return true;
    if (record.op() == op()) return false;
    return record.op() == block_.known_ops[record.op() % 4] || ended_before(record, is_write);
  }
  // Is it of another thread of this kernel, which nothing can have ordered before us?
  bool at_once(Record record) const {
    if (record.op() != op() || self_.has_own_clock) return false;
    if (record.who == who_) return record.time() >= block_.warp_base[thread_ / 32];
    return !block_.clock.knows_other_blocks(op(), block_.number) && record.time() != kMaxTime;
  }
  // What this access leaves behind, less its mask.
  Record record(uint32_t pc) const {
    return {who_, record_bits(pc, thread_, 0, false, block_.time)};
  }

 private:
  OpId op() const { return static_cast<OpId>(who_); }
  // Is the record of an operation that ended before, as the whole block knows? What a block knows,
  // it does not forget.
  [[gnu::noinline]] bool ended_before(Record record, bool is_write) const {
    const Op& other = op_of(record.op());
    if (other.kind == OpKind::Channel) {
      auto& known = is_write ? block_.known_landing : block_.known_reading;
      const std::pair put(record.op(), record.block());
      if (known == put) return true;
      if (is_write ? !knows_landing(block_.clock, other.channel, record.block())
                   : !knows_reading(block_.clock, other.channel, record.block())) {
        return false;
      }
      known = put;
      return true;
    }
    if (block_.clock.agent_time(other.agent) < other.time) return false;
    block_.known_ops[record.op() % 4] = record.op();
    return true;
  }
  const GpuThread& self_;
  Block& block_;
  uint64_t who_;
  uint32_t base_;
  uint16_t thread_;
};

// A host thread that has an operation for its current tick.
class HostViewer {
 public:
  explicit HostViewer(const HostThread& host) : host_(host) {}
  bool past(Record record, bool) const {
    if (record.op() == 0 || record.op() == host_.op) return true;
    const Op& other = op_of(record.op());
    return other.kind != OpKind::Channel && host_.clock.agent_time(other.agent) >= other.time;
  }
  bool at_once(Record) const { return false; }
  Record record(uint32_t pc) const {
    return {Record::who_is(host_.op, 0), record_bits(pc, 0, 0, false, 0)};
  }

 private:
  const HostThread& host_;
};

constexpr uint64_t mask_bits(unsigned mask) { return uint64_t{mask} << 37; }

// One operation may touch the bytes of a word one after another.
inline Record keep_mask(Record record, Record known) {
  constexpr uint64_t kElsewhere = mask_bits(0xF) | kPlaceBits;
  if (record.who == known.who && ((record.bits ^ known.bits) & ~kElsewhere) == 0) {
    record.bits |= known.bits & mask_bits(0xF);
  }
  return record;
}

// Other bytes of the same word?
inline bool apart(Record one, Record other) { return !(one.mask() & other.mask()); }

// False: nothing was done.
template <class Viewer>
[[gnu::always_inline]] inline bool quick_read(Granule& granule, std::size_t cell,
                                              const Viewer& viewer, Record record) {
  const Record write = granule.write.at(cell);
  if (!viewer.past(write, true) && !apart(write, record)) return false;
  const Record first = granule.reads[0].at(cell);
  Record known = first;
  int slot = 0;
  if (!viewer.past(first, false)) {
    slot = 1;
    known = granule.reads[1].at(cell);
    if (!viewer.past(known, false)) {
      // Many threads read one place: see slot_for.
      if (!viewer.at_once(first) || !viewer.at_once(known)) return false;
      if (g_config.seed != 0 && !random_below(2)) return true;
    }
  }
  record = keep_mask(record, known);
  if (known != record) granule.reads[slot].set(cell, record);
  return true;
}

template <class Viewer>
[[gnu::always_inline]] inline bool quick_write(Granule& granule, std::size_t cell,
                                               const Viewer& viewer, Record record) {
  const Record known = granule.write.at(cell);
  if (!viewer.past(known, true) && !apart(known, record)) return false;
  for (const Plane& reads : granule.reads) {
    const Record read = reads.at(cell);
    if (!viewer.past(read, false) && !apart(read, record)) return false;
  }
  for (Plane& reads : granule.reads) reads.drop(cell, record.mask());
  record = keep_mask(record, known);
  if (known != record) granule.write.set(cell, record);
  return true;
}

// The way of the others, by the running fiber: the bytes of `mask` in the word at `address`.
void access_in_word(uintptr_t address, unsigned mask, bool write, uint32_t pc);

// The bytes of the word at `word` that lie in [start, end), as a mask.
inline unsigned bytes_in_word(uintptr_t word, uintptr_t start, uintptr_t end) {
  unsigned mask = 0xF;
  if (word < start) mask &= 0xFu << (start - word);
  if (word + 4 > end) mask &= 0xFu >> (word + 4 - end);
  return mask;
}

template <bool write, class Viewer>
[[gnu::always_inline]] inline void quick_word(const Viewer& viewer, uintptr_t word,
                                              uintptr_t distance, unsigned mask, Record plain,
                                              uint32_t pc) {
  Granule& granule = granule_of(word);
  const std::size_t cell = word % kGranule / 4;
  Record record = plain;
  record.bits |= mask_bits(mask);
  if (write ? quick_write(granule, cell, viewer, record)
            : quick_read(granule, cell, viewer, record)) [[likely]] {
    return;
  }
  access_in_word(word + distance, mask, write, pc);
}

// A plain access of `bytes` at `address`; its history lies `distance` bytes before it.
template <unsigned bytes, bool write, class Viewer>
[[gnu::always_inline]] inline void quick_access(const Viewer& viewer, uintptr_t address,
                                                uintptr_t distance, uint32_t pc) {
  if (g_stores_pending) [[unlikely]]
    settle_stores();
  const uintptr_t start = address - distance, end = start + bytes;
  const Record plain = viewer.record(pc);
  if (bytes < 4 && start % 4 + bytes <= 4) [[likely]] {
    const auto at = static_cast<unsigned>(start % 4);
    quick_word<write>(viewer, start - at, distance, ((1u << bytes) - 1) << at, plain, pc);
  } else if (bytes >= 4 && start % 4 == 0) [[likely]] {
    for (uintptr_t word = start; word < end; word += 4) {
      quick_word<write>(viewer, word, distance, 0xF, plain, pc);
    }
  } else {
    for (uintptr_t word = start & ~uintptr_t{3}; word < end; word += 4) {
      quick_word<write>(viewer, word, distance, bytes_in_word(word, start, end), plain, pc);
    }
  }
}

// The same for whole words: the fields of a structure that is copied.
template <bool write, class Viewer>
inline void quick_words(const Viewer& viewer, uintptr_t address, std::size_t bytes,
                        uintptr_t distance, uint32_t pc) {
  if (g_stores_pending) [[unlikely]]
    settle_stores();
  const Record plain = viewer.record(pc);
  const uintptr_t start = address - distance;
  for (uintptr_t word = start; word < start + bytes; word += 4) {
    quick_word<write>(viewer, word, distance, 0xF, plain, pc);
  }
}

}  // namespace warploom
