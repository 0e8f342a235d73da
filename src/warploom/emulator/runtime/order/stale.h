// Reads that a GPU may answer with an older value.
//
// Volatile and relaxed accesses of two places are in no order without fences, and they never race:
// who has seen a flag may still read what lay in the data before. The emulator runs them in order,
// so it notes where an older value was allowed; a run in which such reads get that value shows
// whether the program depends on it (evaluation/runs/stale_reads.py).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "../../include/warploom/device.h"
#include "order/race.h"

namespace warploom {

struct Block;

// What a release on an atomic variable has published, and how far it reaches.
struct Published {
  Clock clock;
  Scope scope = Scope::System;
  uint64_t block = 0;  // of the publisher, by kernel and number; 0 for the host
  int device = -1;
  OpId op = 0;             // its kernel; 0 for the host
  bool of_blocks = false;  // several blocks of the kernel have added to the clock
};

// A volatile or atomic access of the running fiber.
struct StrongAccess {
  const void* address;
  unsigned bytes;
  bool reads, writes;
  Order order;
  Scope scope;
  bool is_volatile = false;
  Update update = Update::Other;
};

// The access checks, synchronizes and counts; `return_address` is where the program makes it, or in
// the runtime.
void strong_access(const StrongAccess& access, const void* return_address);
// The last of them: the instruction that it stands for follows, and the guard does not always see
// that it is the same place.
struct LookedAt {
  const Fiber* fiber = nullptr;
  const void* address = nullptr;
  unsigned bytes = 0;
  bool reads = false, writes = false;
};
extern LookedAt g_looked_at;
// Whether an access is the one that was looked at, once.
inline bool is_looked_at(const Fiber* fiber, const void* p, std::size_t bytes, bool write) {
  LookedAt& last = g_looked_at;
  if (last.address != p || last.bytes != bytes || last.fiber != fiber) return false;
  return std::exchange(write ? last.writes : last.reads, false);
}

// What a read gets instead of the newest value.
struct OlderValue {
  uint64_t bytes = 0;
  std::optional<Published> published{};  // what lay at the place with it
  Update repeated = Update::Other;       // how the newest value came from it; Other: it hides it
  uintptr_t changes = 0;  // the place, for who stores before that; 0: for a mere read
};

// Before the access enters the history. `published`: what lies at the place so far, or nullptr.
std::optional<OlderValue> note_strong_access(const Actor& actor, const StrongAccess& access,
                                             const Published* published);
// The read-modify-write that was noted last has changed what it found.
void note_change();
// Nobody looks at what it has found.
void note_unused();
// The running fiber reads `older` next, with nothing in between; what it accesses after that finds
// the newest value again.
void put_in_place(const void* address, unsigned bytes, const OlderValue& older);
void put_newest_back();  // settle_stores calls it
// The running GPU thread makes a sequentially consistent fence.
void note_strong_fence(Scope scope);

}  // namespace warploom
