// What a volatile or atomic read may find instead of the newest value.
#pragma once

#include <cstdint>

#include "order/stale_places.h"
#include "order/stale_told.h"

namespace warploom::stale {

constexpr uint64_t kNone = ~uint64_t{0};  // no store is missed

// An access in terms of the places; addresses are those of the history.
struct Touch {
  const Actor& actor;
  const Record& self;
  const StrongAccess& access;
  uintptr_t address;
  Pieces pieces;
  Frames where{};  // of a store, and its number
  uint32_t site = 0;
  const char* memory(uintptr_t word) const {
    return static_cast<const char*>(access.address) + static_cast<intptr_t>(word - address);
  }
};

struct Older {
  uint64_t from = kNone;  // the first store that is missed
  uint64_t value = 0;
  Missed missed{};
  const StrongStore* data = nullptr;  // the newest of these stores
};

// The oldest value that the access may find, if that is not the newest; it finds all words as
// they were at one time.
Older oldest(Touch& touch);
// Whether a mere store may come before the newest one, and what then stays; `from` tells.
Older hiding(Touch& touch);
// What a read that misses the stores from `from` on finds, and what is to be done to memory then.
OlderValue value_of(Touch& touch, uint64_t from);
// The access has read what was there before the stores from this number on.
void note_seen(Touch& touch, uint64_t from);

// Whether such an update can be made of another value as well, where its own result is known.
bool can_be_repeated(Update update);
void repeat(Update update, char* address, unsigned bytes, uint64_t older, uint64_t newest);

// Of read-modify-writes, by their places in the program: that they have changed what they found,
// or have not at least once (`atomicAdd(p, 0)`); that nobody looks at their results.
void note_changing(uint32_t site);
void note_keeping(uint32_t site);
void note_reads_nothing(uint32_t site);

}  // namespace warploom::stale
