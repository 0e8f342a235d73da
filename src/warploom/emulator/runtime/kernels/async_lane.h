// What copies in the background did, as the history of accesses has it: as if by a block of the
// kernel that has no other number. A lane is such a block; its times count its copies.
#pragma once

#include <cstdint>
#include <set>

#include "order/race.h"

namespace warploom {

constexpr uint32_t kAsyncBlocks = 1u << 31;  // their numbers begin here
inline bool is_async(uint32_t block) { return block >= kAsyncBlocks && block < 7u << 29; }
// From here on, what the threads of a block had copied by cp.async: each has numbers of its own.
constexpr uint32_t kCopyBlocks = 3u << 30;
// And from here on, the barriers in memory that they initialized: a fence can order that alone.
constexpr uint32_t kInitBlocks = 7u << 29;
inline bool is_init(uint32_t block) { return block >= kInitBlocks; }
inline bool is_thread_copy(uint32_t block) { return block >= kCopyBlocks && !is_init(block); }
inline uint32_t inits_of(uint32_t block) { return kInitBlocks | block; }
inline uint32_t copies_of(uint32_t block) { return kCopyBlocks | block; }
// Whose access the history has.
inline uint32_t entered_block(const Actor& actor) {
  return actor.copy ? copies_of(actor.block) : actor.init ? inits_of(actor.block) : actor.block;
}

struct Kernel;

struct AsyncLane {
  OpId op = 0;         // of the kernel; 0: it has none yet
  uint32_t block = 0;  // the lane's number
  uint32_t issued = 0;
  std::set<uint32_t> flying;  // those that have not landed
  Clock before;               // the kernel: who knows something of it knows that, too

  // The number of a further copy.
  uint32_t issue(const Kernel& from);
  uint32_t first_flying() const { return flying.empty() ? issued + 1 : *flying.begin(); }
  // Who knows this knows of all copies with lower numbers.
  Clock clock(uint32_t below) const;
};

// The copy `number` of the lane as an actor; `before`: what is ordered before it.
Actor actor_of(const AsyncLane& lane, uint32_t number, const Clock& before, uint32_t pc);

}  // namespace warploom
