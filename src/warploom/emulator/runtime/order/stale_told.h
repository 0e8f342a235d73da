// What is said of reads that may give an older value.
#pragma once

#include <cstdint>

#include "order/stale_places.h"

namespace warploom::stale {

// Why a read may give what was there before a store, or a store may come before it: a store behind
// it that the thread has seen, or that it has heard of by others; one of its own; or its kernel has
// not waited for the one ahead (programmatic dependent launch).
enum class Why { Seen, Relayed, Own, Early };
struct Missed {
  const StrongStore* other = nullptr;
  Why why = Why::Seen;
  bool stores = false;  // it is a store
};

// How far an order between a store and its reader must reach.
Scope between(const StrongStore& store, const Record& reader);
int device_here();
uint32_t hash_of(const Frames& where);
// Names the place, and tells of it once. The name holds for each run of the program.
uint32_t tell(const StrongStore& data, const Missed& missed, const Record& self);

}  // namespace warploom::stale
