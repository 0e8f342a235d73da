// What the runtime computes for cuRAND: runtime/cuda/random_jumps.cpp.
#pragma once

namespace warploom {

// Moves the five words of an XORWOW state, which lie in the caller's own variables, on by `count`
// times 2^power steps.
void xorwow_jump(unsigned* state, unsigned long long count, unsigned power);
// The same for the six numbers of an MRG32k3a state: three of each of its two recurrences.
void mrg32k3a_jump(unsigned* state, unsigned long long count, unsigned power);

}  // namespace warploom
