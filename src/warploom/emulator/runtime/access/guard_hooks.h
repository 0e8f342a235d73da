// What the functions of guard_hooks.cpp, which preserve all registers, call.
#pragma once

#include <cstddef>

extern "C" {
// An access of `bytes` bytes, whose kind has bit 0 for a read and bit 1 for a write.
void warploom_guarded_access(const void* p, std::size_t bytes, unsigned kind,
                             const void* return_address);
// The stack pointer will be `stack`.
void warploom_guarded_stack(const void* stack, std::size_t, unsigned, const void* return_address);
// A call of device code at `call` that can lead back to its function is about to be made.
void warploom_guarded_recursion(const void*, std::size_t, unsigned, const void* call);
// Whether accesses of a function's own large frame are told too.
[[gnu::visibility("hidden")]] extern bool warploom_meters_locals;
}
