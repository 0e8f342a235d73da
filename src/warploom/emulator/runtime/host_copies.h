// Ordinary host memory that an asynchronous copy still writes: reading it early is a defect.
#pragma once

#include <cstddef>

#include "fiber.h"
#include "race.h"

namespace warploom {

extern int g_host_copies;  // ranges that are watched
inline bool host_copies_pending() { return g_host_copies != 0; }

// The copy `op` (known once it has started; 0 before) will write `bytes` at `target`.
int watch_host_copy(const void* target, std::size_t bytes, const Frames& where);
void host_copy_started(int watch, OpId op);
// An access by the running host thread.
void check_host_copies(const void* p, std::size_t bytes, bool write);

}  // namespace warploom
