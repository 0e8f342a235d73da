// What the runtime computes for cuRAND: runtime/cuda/random_jumps.cpp.
#pragma once

namespace warploom {

// Moves the five words of an XORWOW state, which lie in the caller's own variables, on by `count`
// times 2^power steps.
void xorwow_jump(unsigned* state, unsigned long long count, unsigned power);

}  // namespace warploom
