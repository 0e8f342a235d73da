// Lanes of one warp that hand values on in shared memory by volatile accesses, with no barrier of
// the warp in between: that was right while lanes ran in step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "order/race.h"

namespace warploom {

// A thread of a GPU is about to make a volatile access of shared memory. What is unordered there is
// a suspicion: a program may wait for such a value in a loop, and is right then.
void note_lane_exchange(const Actor& actor, uintptr_t address, std::size_t bytes, bool write);

}  // namespace warploom
