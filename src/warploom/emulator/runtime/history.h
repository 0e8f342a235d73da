// The access history: for each four bytes of emulated memory the last write and two reads.
//
// Granules of memory that one operation wrote or read as a whole keep a single record of that sort;
// records for each four bytes are made when a part is accessed. Copies and collectives of large
// buffers then cost little, and memory that is only read keeps no record for each write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"
#include "race.h"

namespace warploom {

// One remembered access. `bits`: pc 27, thread 10, byte mask 4, atomic 1, time 22.
struct Record {
  OpId op = 0;
  uint32_t block = 0;  // of a channel: the put's sequence number
  uint64_t bits = 0;

  uint32_t pc() const { return static_cast<uint32_t>(bits & 0x7FFFFFF); }
  uint16_t thread() const { return static_cast<uint16_t>(bits >> 27 & 0x3FF); }
  unsigned mask() const { return static_cast<unsigned>(bits >> 37 & 0xF); }
  bool atomic() const { return bits >> 41 & 1; }
  uint32_t time() const { return static_cast<uint32_t>(bits >> 42); }
  bool operator==(const Record&) const = default;
};
// Accesses at this time or later are taken as ordered: they cannot be told apart.
constexpr uint32_t kMaxTime = (1u << 22) - 1;

constexpr uint64_t record_bits(uint32_t pc, uint16_t thread, unsigned mask, bool atomic,
                               uint32_t time) {
  return (uint64_t{pc} & 0x7FFFFFF) | uint64_t{thread} << 27 | uint64_t{mask} << 37 |
         uint64_t{atomic} << 41 | uint64_t{time < kMaxTime ? time : kMaxTime} << 42;
}
Record make_record(const Actor& actor, unsigned mask, bool atomic);

constexpr std::size_t kGranule = 1024;  // bytes
constexpr std::size_t kGranuleCells = kGranule / 4;

// The records of one sort in one granule: one for all its cells, or one for each.
class Plane {
 public:
  const Record& at(std::size_t cell) const { return cells_ ? cells_[cell] : all_; }
  void set(std::size_t cell, const Record& record) {
    if (!cells_) spread();
    cells_[cell] = record;
  }
  void clear(std::size_t cell) {
    if (at(cell).op) set(cell, {});
  }
  void set_all(const Record& record) {
    if (cells_) collapse();
    all_ = record;
  }
  bool uniform() const { return !cells_; }

 private:
  void spread();
  void collapse();
  Record all_;
  Record* cells_ = nullptr;
};

// Two reads are enough to find a race in some schedule; which ones are kept varies with the seed.
struct Granule {
  Plane write, reads[2];
};

constexpr uintptr_t kGranules = 0x0F0000000000;
inline Granule& granule_of(uintptr_t address) {
  return reinterpret_cast<Granule*>(kGranules)[(address - kArenaBase) / kGranule];
}

}  // namespace warploom
