// Copies in the background: cp.async.bulk.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace warploom {

// What copies in the background may reach: of either sort.
bool touches_shared(uintptr_t address, const Block& block);
bool is_bulk_global(const void* p, unsigned bytes);
// False: the access is not allowed, which has been told.
bool may_copy(const void* p, unsigned bytes, bool write);

// The block ends: what is on its way from or to its shared memory lands, and should have been
// waited for.
void finish_copies(Block& block);

}  // namespace warploom
