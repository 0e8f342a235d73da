// Shared memory of blocks.
#pragma once

#include <cstdint>

#include "kernel.h"

namespace warploom {

// The start of the window of a block that has shared memory.
uintptr_t shared_start(const Block& block);
void release_shared_slot(Block& block);

}  // namespace warploom
