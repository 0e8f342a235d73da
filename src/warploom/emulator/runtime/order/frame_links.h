// The places of a stack where functions keep their caller's frame and where they return to, and the
// frames of the runtime.
#pragma once

#include <cstddef>

namespace warploom {

// A store by the program to its own stack: ends the run where it hits such a place, of any of its
// functions that are under way, or what the runtime keeps beneath (into_program.h). What the guard
// takes for granted of frames depends on these.
void check_stack_store(const void* p, std::size_t bytes);

// A store to a stack of a host thread that the runtime is about to make for the program, or the
// program to the stack of another thread. That one waits in the runtime: its frames there are
// looked at as well.
void check_any_stack_store(const void* p, std::size_t bytes);

}  // namespace warploom
