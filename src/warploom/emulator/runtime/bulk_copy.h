// Copies in the background: cp.async.bulk.
#pragma once

#include "kernel.h"

namespace warploom {

// The block ends: what is on its way from or to its shared memory lands, and should have been
// waited for.
void finish_copies(Block& block);

}  // namespace warploom
