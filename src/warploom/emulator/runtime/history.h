// The access history: for each four bytes of emulated memory the last write and two reads.
//
// Whole granules that one operation wrote or read keep a single cell; cells of their own are made
// when a part is accessed. Copies and collectives of large buffers then cost little.
#pragma once

#include <cstddef>
#include <cstdint>

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
};
// Accesses at this time or later are taken as ordered: they cannot be told apart.
constexpr uint32_t kMaxTime = (1u << 22) - 1;

Record make_record(const Actor& actor, unsigned mask, bool atomic);

// Two reads are enough to find a race in some schedule; which ones are kept varies with the seed.
struct Cell {
  Record write;
  Record reads[2];
};

constexpr std::size_t kGranule = 1024;  // bytes
constexpr std::size_t kGranuleCells = kGranule / 4;

struct Granule {
  Cell uniform;  // of all its cells, unless `expanded`
  uint64_t expanded = 0;
};

Granule& granule_of(uintptr_t address);
Cell* cells_of(uintptr_t address);  // of the granule at `address`; meaningful when expanded
void expand(Granule& granule, uintptr_t address);

inline Cell& cell_of(uintptr_t address) {
  Granule& granule = granule_of(address);
  if (!granule.expanded) expand(granule, address);
  return cells_of(address)[address % kGranule / 4];
}

}  // namespace warploom
