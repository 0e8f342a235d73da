// Buffers that a program frees and allocates again: who takes whose place.
//
// A loop that allocates its buffers anew has other allocations in each turn, which are one buffer
// to whoever looks at its results. So an allocation takes the place of the one that was freed last,
// which had the same size, was made by the same calls, and had as many of its kind beside it.
#pragma once

#include <cstdint>

#include "memory/memory.h"

namespace warploom {

void begin_line(const Allocation& allocation);
void end_line(const Allocation& allocation);
// Of an allocation by its number: the number of the first in its place.
uint64_t line_of(uint64_t number);

}  // namespace warploom
