// The places that volatile and atomic accesses touched last: who stored, and who has seen it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/shared_tree.h"
#include "order/history.h"
#include "order/stale.h"

namespace warploom::stale {

// One store, and what its thread knew then.
struct StrongStore {
  static constexpr int kFrames = 4;
  uint32_t references = 0;
  Record record;
  uint64_t number = 0;  // counts stores and fences of all threads
  Clock clock;
  uint32_t base = 0, warp_base = 0;
  int device = -1;  // of the thread; -1: the host
  Order order = Order::Relaxed;
  Scope scope = Scope::System;
  Ref<StrongStore> continues{};  // the store that a read-modify-write has read
  unsigned length = 0;           // of that chain
  bool is_update = false;        // it is a read-modify-write's
  uint32_t pc[kFrames] = {};     // where it is made, innermost first
  Frames where() const {
    Frames frames;
    std::copy_n(pc, kFrames, frames.pc);
    return frames;
  }
};

// The newest store at a place, while the history knows of no other behind it.
struct Place {
  uintptr_t address = 0;
  unsigned bytes = 0;         // 0: nothing is known
  Ref<StrongStore> newest{};  // nullptr: none is known
  Record last{};              // who wrote there last: an update behind it may have kept the value
  uint64_t before = 0;        // what it has replaced
  std::optional<Published> published_before{};
  bool may_be_older = true;     // some thread may still read what was before
  std::vector<Record> seen{};   // threads that have read it, each with its first read
  std::vector<Record> given{};  // reads that got what was before instead
};

bool same_thread(const Record& one, const Record& other);

// Some thread has read a store.
struct Seen {
  Ref<StrongStore> store;
  Record reader;
};
// What threads of the reader's block have read lately; the newest is nowhere in particular.
struct Reader {
  static constexpr unsigned kKept = 256;
  OpId op = 0;
  uint32_t block = 0;
  unsigned next = 0;
  Seen seen[kKept];
};

// The tables are small and lose what collides in them: what is lost is not accused.
Place& place_at(uintptr_t address, unsigned bytes);  // forgets places that overlap it otherwise
void forget_line(uintptr_t address);
Reader& reader_of(const Record& record);

}  // namespace warploom::stale
