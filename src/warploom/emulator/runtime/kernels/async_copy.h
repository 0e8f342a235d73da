// Copies that threads have made while they go on: cp.async.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace warploom {

// One copy that its thread has not waited for.
struct ThreadCopy {
  char* to = nullptr;
  const void* from = nullptr;
  uint32_t number = 0;
  uint8_t bytes = 0, kept = 0;  // what does not come from the source is zero
  bool landed = false;
  uint64_t group = 0;
  char data[16] = {};
};

// The copies of a thread, which it numbers, and the groups that it commits one after another.
struct ThreadCopies {
  uint32_t issued = 0;
  uint64_t open = 1;
  std::vector<ThreadCopy> waiting;
  // Those that a barrier in memory stands for are known by their numbers: the last one of each
  // group.
  struct AtBarrier {
    uint64_t group;
    uint32_t number;
  };
  std::vector<AtBarrier> at_barriers;
};

struct BlockCopies {
  std::vector<ThreadCopies> threads;
};

// The block ends: nobody asks any more for what its threads have not waited for.
void forget_copies(const Block& block);

}  // namespace warploom
