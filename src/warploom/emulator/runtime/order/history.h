// The access history: for each four bytes of emulated memory the last write and two reads.
//
// Granules of memory that one operation wrote or read as a whole keep a single record of that sort,
// and what the threads of a kernel touched in their order is kept as a run; records for each four
// bytes are made only for other patterns. Copies, collectives and the usual `a[i]` of large buffers
// then cost little memory, and memory that is only read keeps no record for each write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../include/warploom/device.h"
#include "base/check.h"
#include "memory/memory.h"
#include "order/race.h"

namespace warploom {

// An atomic access: whose accesses of the same bytes it excludes, and the bytes that it takes as
// one: those of a word that the mask names, 8, 16, or any (volatile accesses, which C++ may
// divide).
enum class Extent : uint8_t { Word, Eight, Sixteen, Any };
struct Atomicity {
  uint8_t bits = 0;  // 0: not atomic; else the scope and one 2, the extent 2

  constexpr Atomicity() = default;
  constexpr explicit Atomicity(unsigned bits_) : bits(static_cast<uint8_t>(bits_)) {}
  constexpr Atomicity(Scope scope, Extent extent)
      : bits(static_cast<uint8_t>((static_cast<unsigned>(scope) + 1) | static_cast<unsigned>(extent)
                                                                           << 2)) {}
  constexpr explicit operator bool() const { return bits != 0; }
  constexpr Scope scope() const { return static_cast<Scope>((bits & 3) - 1); }
  constexpr Extent extent() const { return static_cast<Extent>(bits >> 2); }
};
constexpr Atomicity atomicity(Scope scope, std::size_t bytes) {
  const Extent extent = bytes <= 4    ? Extent::Word
                        : bytes == 8  ? Extent::Eight
                        : bytes == 16 ? Extent::Sixteen
                                      : Extent::Any;
  return {scope, extent};
}

// One remembered access. `bits`: pc 25, thread 10, byte mask 4, atomicity 4, time 21.
struct Record {
  uint64_t who = 0;  // operation 32, block 32
  uint64_t bits = 0;

  Record() = default;
  constexpr Record(uint64_t who_, uint64_t bits_) : who(who_), bits(bits_) {}
  static constexpr uint64_t who_is(OpId op, uint32_t block) { return uint64_t{block} << 32 | op; }
  OpId op() const { return static_cast<OpId>(who); }
  uint32_t block() const { return who >> 32; }  // of a channel: the put's sequence number
  static constexpr unsigned kThreadAt = 25, kThreadBits = 10, kThreads = (1u << kThreadBits) - 1;
  static constexpr unsigned kMaskAt = 35, kAtomicAt = 39, kTimeAt = 43;
  uint32_t pc() const { return static_cast<uint32_t>(bits & ((1u << kThreadAt) - 1)); }
  uint16_t thread() const { return static_cast<uint16_t>(bits >> kThreadAt & kThreads); }
  unsigned mask() const { return static_cast<unsigned>(bits >> kMaskAt & 0xF); }
  bool atomic() const { return bits >> kAtomicAt & 3; }
  Atomicity atomicity() const { return Atomicity(static_cast<unsigned>(bits >> kAtomicAt & 0xF)); }
  uint32_t time() const { return static_cast<uint32_t>(bits >> kTimeAt); }
  bool operator==(const Record&) const = default;
};
static_assert(sizeof(Record) == 16);
static_assert(Record::kMaskAt == Record::kThreadAt + Record::kThreadBits);
static_assert(Record::kAtomicAt == Record::kMaskAt + 4 && Record::kTimeAt == Record::kAtomicAt + 4);
constexpr uint64_t kPlaceBits = (1u << Record::kThreadAt) - 1;
constexpr uint64_t mask_bits(unsigned mask) {
  WARPLOOM_INVARIANT(mask <= 0xF);
  return uint64_t{mask} << Record::kMaskAt;
}
constexpr uint64_t atomic_bits(Atomicity atomic) {
  WARPLOOM_INVARIANT(atomic.bits <= 0xF);
  return uint64_t{atomic.bits} << Record::kAtomicAt;
}
// Accesses at this time or later are taken as ordered: they cannot be told apart.
constexpr uint32_t kMaxTime = (1u << (64 - Record::kTimeAt)) - 1;

constexpr uint64_t record_bits(uint32_t pc, uint16_t thread, unsigned mask, Atomicity atomic,
                               uint32_t time) {
  WARPLOOM_INVARIANT(thread <= Record::kThreads);
  return (uint64_t{pc} & kPlaceBits) | uint64_t{thread} << Record::kThreadAt | mask_bits(mask) |
         atomic_bits(atomic) | uint64_t{time < kMaxTime ? time : kMaxTime} << Record::kTimeAt;
}
Record make_record(const Actor& actor, unsigned mask, Atomicity atomic);
// Do two atomic accesses of overlapping bytes exclude each other? Where a scope does not reach the
// other's thread, or they take other bytes as one, they do not ("morally strong" in the memory
// consistency model of PTX).
[[gnu::noinline]] bool exclude_each_other(const Record& one, const Record& other);
// Is the access, no put, ordered before what `actor` does?
bool is_ordered(const Record& record, const Actor& actor);

constexpr std::size_t kGranule = 1024;  // bytes
constexpr std::size_t kGranuleCells = kGranule / 4;

// Cells that were touched one after another: 2^cells of them by each thread, 2^threads threads by
// each block; the next thread follows, and behind the last one of a block the next block's first.
struct CellRun {
  static constexpr uint8_t kUnknown = 16;  // more than there are: so far one thread, or one block
  Record first;
  uint16_t start = 0, count = 0;
  uint8_t cells = kUnknown, threads = kUnknown;

  bool holds(uint32_t cell) const { return cell - start < count; }
  [[gnu::always_inline]] Record at(uint32_t cell) const {
    WARPLOOM_INVARIANT(cell >= start && cell - start <= count);
    const uint32_t thread = first.thread() + ((cell - start) >> cells);
    Record record = first;
    record.who += uint64_t{thread >> threads} << 32;
    record.bits += uint64_t{thread & ((1u << threads) - 1)} << Record::kThreadAt;
    record.bits -= uint64_t{first.thread()} << Record::kThreadAt;
    return record;
  }
  // Is it what comes next, by all that is known of the run?
  [[gnu::always_inline]] bool continues(uint32_t cell, Record record) const {
    return count && cell == uint32_t{start} + count && record == at(cell);
  }
  // Makes the run one longer, if the record is what comes next.
  bool extend(uint32_t cell, const Record& record);

 private:
  bool learn(uint32_t cell, const Record& record);
};

// Records of single cells in a short form: a cell has its thread, and the number of what it shares
// with others; 0 for no record (history_short.h).
inline uint16_t* short_forms(uintptr_t where) {
  return reinterpret_cast<uint16_t*>(where & ~uintptr_t{1});
}
inline Record* short_shared(uintptr_t where) {
  return reinterpret_cast<Record*>(short_forms(where) + kGranuleCells);
}
[[gnu::always_inline]] inline Record short_record(uintptr_t where, uint32_t cell) {
  const uint16_t form = short_forms(where)[cell];
  Record record = short_shared(where)[form >> Record::kThreadBits];
  record.bits |= uint64_t{form & Record::kThreads} << Record::kThreadAt;
  return record;
}

// The fast path makes no call: what needs one is left to the slow path.
enum class AccessPath { Fast, Slow };

// The records of one sort in one granule: one for all its cells but for those of at most two runs,
// or one for each. Those for each cell are whole records, which is quickest; where these hold as
// much memory as they may (Config::whole_history), new ones are kept in a short form.
class Plane {
 public:
  [[gnu::always_inline]] Record at(std::size_t at) const {
    const auto cell = static_cast<uint32_t>(at);
    WARPLOOM_INVARIANT(cell < kGranuleCells);
    if (cells_) return cells_[cell];
    if (uniform()) return rest_;
    const CellRun& run = new_.holds(cell) ? new_ : old_;
    if (run.holds(cell)) return run.at(cell);
    return is_short() ? short_record(old_.first.who, cell) : rest_;
  }
  // Word by word: a record that was just made lies in registers.
  [[gnu::always_inline]] void set(std::size_t cell, Record record) {
    if (!overwrite(cell, record)) set_in_runs(static_cast<uint32_t>(cell), record);
  }
  // The same where there are records for each cell. False: nothing was done.
  [[gnu::always_inline]] bool overwrite(std::size_t cell, Record record) {
    WARPLOOM_INVARIANT(cell < kGranuleCells);
    if (!cells_) return false;
    cells_[cell].who = record.who;
    cells_[cell].bits = record.bits;
    return true;
  }
  // The same in place of `known`. False: nothing was done.
  template <AccessPath path>
  [[gnu::always_inline]] bool replace(std::size_t cell, Record known, Record record) {
    if (cells_ || path == AccessPath::Slow) {
      set(cell, record);
      return true;
    }
    if (new_.holds(static_cast<uint32_t>(cell))) return same_but_place(known, record);
    if (!new_.continues(static_cast<uint32_t>(cell), record)) return false;
    new_.count++;
    forget_covered();
    return true;
  }
  // Forgets a record of bytes in `mask` alone, of an access that a later one in the same place is
  // ordered after; it may stay where it is part of a run.
  void drop(std::size_t cell, unsigned mask) {
    if (cells_) {
      if (!(cells_[cell].mask() & ~mask)) cells_[cell] = {};
    } else if (is_short()) {
      uint16_t& form = short_forms(old_.first.who)[cell];
      if (!(short_record(old_.first.who, static_cast<uint32_t>(cell)).mask() & ~mask)) form = 0;
    }
  }
  void clear(std::size_t cell) {
    if (!at(cell).who) return;
    if (!cells_ && !is_short()) spread();
    set(cell, {});
  }
  void set_all(const Record& record) {
    if (cells_ || is_short()) collapse();
    old_.count = new_.count = 0;
    rest_ = record;
  }
  // Is there one record, or one run, for the whole granule?
  bool of_one_operation() const { return uniform() || (!cells_ && new_.count == kGranuleCells); }
  bool uniform() const { return !cells_ && !new_.count; }  // there is no old run without a new one

 private:
  // The same thread again, from another place of the program: one of the places will do.
  [[gnu::always_inline]] static bool same_but_place(Record one, Record other) {
    return one.who == other.who && !((one.bits ^ other.bits) & ~kPlaceBits);
  }
  [[gnu::always_inline]] void forget_covered() {
    if (new_.start <= old_.start && new_.start + new_.count >= old_.start + old_.count) {
      old_.count = 0;
    }
  }
  void set_in_runs(uint32_t cell, Record record);
  void spread();
  void spread_whole();
  void collapse();
  // The short form lies at `old_.first.who`; no cell is in the run that stands for it.
  static constexpr uint16_t kShort = 0xFFFF;
  bool is_short() const { return new_.start == kShort; }
  // False: it did not fit, nothing was done.
  [[gnu::noinline]] bool to_short();
  [[gnu::noinline]] void set_short(uint32_t cell, Record record);
  void try_run();
  Record* cells_ = nullptr;
  CellRun new_, old_;
  Record rest_;
};

// Two reads are enough to find a race in some schedule; which ones are kept varies with the seed.
struct Granule {
  Plane write, reads[2];
};

// Of the arena, which has some 10 TiB at most (layout.cpp).
static_assert(kGranules + (std::size_t{10} << 40) / kGranule * sizeof(Granule) < kOwners);
inline Granule& granule_of(uintptr_t address) {
  WARPLOOM_INVARIANT(address - g_places.arena <= g_places.arena_bytes);
  return reinterpret_cast<Granule*>(kGranules)[(address - g_places.arena) / kGranule];
}

}  // namespace warploom
