// What is said of reads that may give an older value.
#pragma once

#include <cstdint>

#include "order/stale_places.h"

namespace warploom::stale {

// Why a read may give what was there before a store: a store behind it that the reader has seen, or
// one of the reader's own.
struct Missed {
  const StrongStore* other = nullptr;
  bool is_own = false;
};

// How far an order between a store and its reader must reach.
Scope between(const StrongStore& store, const Record& reader);
int device_here();
uint32_t hash_of(const Frames& where);
// Names the place, and tells of it once. The name holds for each run of the program.
uint32_t tell(const StrongStore& data, const Missed& missed, const Record& self);

}  // namespace warploom::stale
