// Loads by the read-only path (__ldg, ld.global.nc). What they read must stay as it is while the
// kernel runs: the cache on that path does not follow the kernel's own stores, whatever orders
// them.
#pragma once

#include "race.h"

namespace warploom {

struct Kernel;

// The kernel has ended: did it write what it read so?
void check_read_only(const Kernel& kernel);

}  // namespace warploom
