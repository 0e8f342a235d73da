// The way of most accesses: what this thread, an earlier interval of its block or an operation that
// has ended left in the history needs no clock. Everything else goes to race.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "order/completions.h"
#include "order/equal_stores.h"
#include "order/history.h"

namespace warploom {

// The running GPU thread as it looks at the history.
template <AccessPath path>
class ThreadViewer {
 public:
  static constexpr AccessPath kPath = path;
  ThreadViewer()
      : block_(*g_turn.block),
        who_(g_turn.who),
        thread_(static_cast<uint16_t>(g_here._Wthread.linear)) {}

  // Is there nothing to say of this record? False: it needs the slow path.
  [[gnu::always_inline]] bool past(Record record, bool is_write) const {
    if (record.op() == op()) {
      return record.who == who_ &&
             (record.thread() == thread_ || record.time() < block_.base || before_warp(record));
    }
    if (record.op() == 0 ||
        record.op() == block_.known_ops[record.op() % block_.known_ops.size()]) {
      return true;
    }
    return path == AccessPath::Slow && ended_before(record, is_write);
  }
  // Is it of another thread of this kernel, which nothing can have ordered before us?
  [[gnu::always_inline]] bool at_once(Record record) const {
    if (record.op() != op() || g_current->gpu->has_own_clock) return false;
    if (record.who == who_) return record.time() >= block_.warp_base[thread_ / 32];
    return block_.alone && record.time() != kMaxTime;
  }
  // What this access leaves behind, less its mask.
  Record record(uint32_t pc) const { return {who_, record_bits(pc, thread_, 0, {}, block_.time)}; }

 private:
  OpId op() const { return static_cast<OpId>(who_); }
  [[gnu::always_inline]] bool before_warp(Record record) const {
    return record.thread() / 32 == thread_ / 32 && record.time() < block_.warp_base[thread_ / 32];
  }
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
    Kernel& kernel = *block_.kernel;
    const std::size_t place = record.op() % block_.known_ops.size();
    block_.known_ops[place] = record.op();
    if (kernel.before.agent_time(other.agent) >= other.time) kernel.known_ops[place] = record.op();
    return true;
  }
  Block& block_;
  uint64_t who_;
  uint16_t thread_;
};

using SlowViewer = ThreadViewer<AccessPath::Slow>;

// A host thread that has an operation for its current tick.
class HostViewer {
 public:
  static constexpr AccessPath kPath = AccessPath::Slow;
  explicit HostViewer(const HostThread& host) : host_(host) {}
  bool past(Record record, bool) const {
    if (record.op() == 0 || record.op() == host_.op) return true;
    const Op& other = op_of(record.op());
    return other.kind != OpKind::Channel && host_.clock.agent_time(other.agent) >= other.time;
  }
  bool at_once(Record) const { return false; }
  Record record(uint32_t pc) const {
    return {Record::who_is(host_.op, 0), record_bits(pc, 0, 0, {}, 0)};
  }

 private:
  const HostThread& host_;
};

// One operation may touch the bytes of a word one after another.
[[gnu::always_inline]] inline Record keep_mask(Record record, Record known) {
  constexpr uint64_t kElsewhere = mask_bits(0xF) | kPlaceBits;
  if (record.mask() != 0xF && record.who == known.who &&
      ((record.bits ^ known.bits) & ~kElsewhere) == 0) {
    record.bits |= known.bits & mask_bits(0xF);
  }
  return record;
}

// Other bytes of the same word?
[[gnu::always_inline]] inline bool apart(Record one, Record other) {
  return !(one.mask() & other.mask());
}

// False: it needs the slow path, for all of it.
template <class Viewer>
[[gnu::always_inline]] inline bool replace(Plane& plane, std::size_t cell, Record known,
                                           Record record) {
  record = keep_mask(record, known);
  return known == record || plane.replace<Viewer::kPath>(cell, known, record);
}

// The same.
template <class Viewer>
[[gnu::always_inline]] inline bool quick_read(Granule& granule, std::size_t cell,
                                              const Viewer& viewer, Record record) {
  const Record write = granule.write.at(cell);
  if (!viewer.past(write, true) && !apart(write, record)) return false;
  const Record first = granule.reads[0].at(cell);
  if (viewer.past(first, false)) return replace<Viewer>(granule.reads[0], cell, first, record);
  // Many threads read one place: see slot_for. What the newest one replaces need not be looked at.
  const bool newest = g_config.seed == 0 && record.mask() == 0xF && viewer.at_once(first);
  if (newest && granule.reads[1].overwrite(cell, record)) return true;
  const Record second = granule.reads[1].at(cell);
  if (!viewer.past(second, false)) {
    if (!viewer.at_once(first) || !viewer.at_once(second)) return false;
    if (g_config.seed != 0) {
      if (Viewer::kPath == AccessPath::Fast) return false;
      if (!random_below(2)) return true;
    }
  }
  return replace<Viewer>(granule.reads[1], cell, second, record);
}

// The same.
template <class Viewer>
[[gnu::always_inline]] inline bool quick_write(Granule& granule, std::size_t cell,
                                               const Viewer& viewer, Record record) {
  const Record known = granule.write.at(cell);
  // What an operation that still runs wrote is told to history_read_only.h before it is replaced.
  if (!viewer.past(known, true) && (!apart(known, record) || known.op() != record.op())) {
    return false;
  }
  for (const Plane& reads : granule.reads) {
    const Record read = reads.at(cell);
    if (!viewer.past(read, false) && !apart(read, record)) return false;
  }
  for (Plane& reads : granule.reads) reads.drop(cell, record.mask());
  return replace<Viewer>(granule.write, cell, known, record);
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

// False: on the fast path, it needs the slow one.
template <bool write, class Viewer>
[[gnu::always_inline]] inline bool quick_word(const Viewer& viewer, uintptr_t word,
                                              uintptr_t distance, unsigned mask, Record plain,
                                              uint32_t pc) {
  Granule& granule = granule_of(word);
  const std::size_t cell = word % kGranule / 4;
  Record record = plain;
  record.bits |= mask_bits(mask);
  if (write ? quick_write(granule, cell, viewer, record)
            : quick_read(granule, cell, viewer, record)) [[likely]] {
    return true;
  }
  if (Viewer::kPath == AccessPath::Fast) return false;
  access_in_word(word + distance, mask, write, pc);
  return true;
}

// A plain access of `bytes` at `address`; its history lies `distance` bytes before it. False: it
// needs the slow path, for all of it.
template <unsigned bytes, bool write, class Viewer>
[[gnu::always_inline]] inline bool quick_access(const Viewer& viewer, uintptr_t address,
                                                uintptr_t distance, uint32_t pc) {
  const uintptr_t start = address - distance, end = start + bytes;
  const Record plain = viewer.record(pc);
  if (bytes < 4 && start % 4 + bytes <= 4) [[likely]] {
    const auto at = static_cast<unsigned>(start % 4);
    return quick_word<write>(viewer, start - at, distance, ((1u << bytes) - 1) << at, plain, pc);
  }
  if (bytes >= 4 && start % 4 == 0) [[likely]] {
    bool done = true;
    for (unsigned word = 0; word < bytes && done; word += 4) {
      done = quick_word<write>(viewer, start + word, distance, 0xF, plain, pc);
    }
    return done;
  }
  if (Viewer::kPath == AccessPath::Fast) return false;
  for (uintptr_t word = start & ~uintptr_t{3}; word < end; word += 4) {
    quick_word<write>(viewer, word, distance, bytes_in_word(word, start, end), plain, pc);
  }
  return true;
}

// The same for whole words: the fields of a structure that is copied.
template <bool write, class Viewer>
inline bool quick_words(const Viewer& viewer, uintptr_t address, std::size_t bytes,
                        uintptr_t distance, uint32_t pc) {
  const Record plain = viewer.record(pc);
  const uintptr_t start = address - distance;
  for (uintptr_t word = start; word < start + bytes; word += 4) {
    if (!quick_word<write>(viewer, word, distance, 0xF, plain, pc)) return false;
  }
  return true;
}

}  // namespace warploom
