// Loads by the read-only path (__ldg, ld.global.nc) and of `__constant__` variables. What they read
// must stay as it is while the kernel runs: the caches on these paths do not follow the kernel's
// own stores, whatever orders them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "order/race.h"

namespace warploom {

struct Kernel;
struct Record;
struct Variable;

// From now on what the kernel writes is remembered when others write over it.
void open_read_only(const Kernel& kernel);
// The record of a write to the word at `address`, and with `words` to those behind it, is replaced
// by that of a write of the operation `by`.
void note_overwritten(const Record& write, uintptr_t address, std::size_t words, OpId by);

// The running GPU thread is about to store to a `__constant__` variable, through its address.
void note_constant_store(const Variable& variable, const void* p, std::size_t bytes);
// The kernel has ended: did it write what it read so?
void check_read_only(const Kernel& kernel);

}  // namespace warploom
