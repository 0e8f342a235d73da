// The places of a stack where functions keep their caller's frame and where they return to.
#pragma once

#include <cstddef>

namespace warploom {

// A store by the program to its own stack: ends the run where it hits such a place, of any of its
// functions that are under way. What the guard takes for granted of frames depends on these.
void check_stack_store(const void* p, std::size_t bytes);

}  // namespace warploom
