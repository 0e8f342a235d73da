// What the calls that stand before the C library's have in common. For their sources only.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>

#include "host/descriptors.h"
#include "host/libc_made.h"

#define CALLER __builtin_return_address(0)
#define ASK(descriptor, what) \
  if (of_program(CALLER) && !check_descriptor(descriptor, what)) return -1
// Some programs close all descriptors that there may be.
#define SKIP(descriptor)                           \
  if (of_program(CALLER) && is_kept(descriptor)) { \
    errno = EBADF;                                 \
    return -1;                                     \
  }

namespace warploom {

// What a system call of raw_call gave, as the C library returns it: -1 with errno where it failed.
inline long answer_of(long given) {
  constexpr long kMostErrors = 4095;  // of the kernel: syscall(2)
  if (given >= 0 || given < -kMostErrors) return given;
  errno = static_cast<int>(-given);
  return -1;
}

// Does open(2) take the mode of a new file? O_TMPFILE has the bit of O_DIRECTORY as well.
inline bool makes_file(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

inline std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) & ~std::size_t{4095}; }

}  // namespace warploom
