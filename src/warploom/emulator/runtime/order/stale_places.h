// The words that volatile and atomic accesses touched last: who stored, and who has seen it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
  Ref<StrongStore> continues{};   // the store that a read-modify-write has read
  uint64_t fenced[3] = {};        // the last fences of its block, by how far they reach at least
  unsigned length = 0;            // of that chain
  bool is_update = false;         // it is a read-modify-write's
  mutable bool is_used = true;    // somebody looks at what it has found
  Update update = Update::Other;  // what it has made of that
  uint32_t pc[kFrames] = {};      // where it is made, innermost first
  Frames where() const {
    Frames frames;
    std::copy_n(pc, kFrames, frames.pc);
    return frames;
  }
};

// A store as one word of memory sees it.
struct Stored {
  Ref<StrongStore> store{};
  uint32_t before = 0;                           // the word that it has changed
  uint8_t mask = 0;                              // the bytes that it is of; 0: of none, after all
  bool may_be_older = true;                      // some thread may still read what was before
  std::vector<Record> seen{};                    // threads that have read it, with first reads
  std::unique_ptr<std::vector<Record>> given{};  // reads that got something older instead
  std::unique_ptr<Published> published_before{};
};

// The last stores at a word, while the history knows of no other behind them.
class Place {
 public:
  static constexpr unsigned kKept = 8;
  uintptr_t address = 0;
  Record last{};  // who wrote there last: an update behind the stores may have kept the value

  unsigned size() const { return static_cast<unsigned>(stores_.size()); }
  // 0: the newest.
  Stored& at(unsigned depth) { return stores_[(first_ + size() - depth) % size()]; }
  // The newest one of some bytes; nullptr: none is known.
  Stored* newest(unsigned mask);
  Stored& push();
  // Somebody else has written these bytes.
  void forget(unsigned mask);
  void clear() {
    stores_.clear();
    first_ = 0;
  }

 private:
  std::vector<Stored> stores_{};
  unsigned first_ = 0;  // the newest
};

// The words of an access, with the bytes of each.
struct Piece {
  Place* place = nullptr;
  unsigned mask = 0;
};
struct Pieces {
  static constexpr unsigned kMost = 3;  // of eight bytes that need not be aligned
  std::array<Piece, kMost> pieces;
  unsigned count = 0;
  Piece* begin() { return pieces.data(); }
  Piece* end() { return pieces.data() + count; }
  Stored* newest() { return count ? pieces[0].place->newest(pieces[0].mask) : nullptr; }
};

bool same_thread(const Record& one, const Record& other);

// Some thread has read a store.
struct Seen {
  Ref<StrongStore> store;
  Record reader;
  uint64_t number = 0;  // of the last store or fence before
};
// What threads of the reader's block have read lately; the newest is nowhere in particular.
struct Reader {
  static constexpr unsigned kKept = 256;
  OpId op = 0;
  uint32_t block = 0;
  unsigned next = 0;
  Seen seen[kKept];
};

// The tables are small and lose what collides in them: what is lost is not accused. A key's slot of
// 2^bits: Fibonacci hashing (Knuth).
inline std::size_t slot_of(uint64_t key, unsigned bits) {
  return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15 >> (64 - bits));
}
Pieces pieces_of(uintptr_t address, unsigned bytes);
void forget_line(uintptr_t address);
Reader& reader_of(const Record& record);
const Reader* known_reader(const Record& record);  // nullptr: nothing is known of it

}  // namespace warploom::stale
