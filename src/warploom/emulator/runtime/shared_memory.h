// Shared memory of blocks.
#pragma once

#include "kernel.h"

namespace warploom {

void release_shared_slot(Block& block);

}  // namespace warploom
