// Tables of functions that programs are sent through: filled once, and read-only from then on.
#pragma once

#include <sys/mman.h>

namespace warploom {

// In pages of its own.
template <class Table>
struct alignas(4096) ClosedTable {
  Table all;
  void close() { mprotect(this, sizeof *this, PROT_READ); }
};

}  // namespace warploom
