// Shared memory of blocks.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace warploom {

// The start of the window of a block that has shared memory.
uintptr_t shared_start(const Block& block);
// The same of a block that may have none yet.
uintptr_t shared_window(Block& block);
// Others of its cluster use what the block itself has not come to: if one of its variables lies
// there, it is made. False: none, or it is there.
bool place_shared(Block& block, uintptr_t address);
void release_shared_slot(Block& block);

}  // namespace warploom
