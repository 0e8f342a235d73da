// In which order the blocks of a kernel start, and when: what is resident need not run yet.
#pragma once

#include <cstdint>

namespace warploom {

struct Kernel;

// When a kernel's blocks start, beside what else could go on.
struct StartPlan {
  bool late = false;        // one after the other, each when nothing else can go on
  bool first_late = false;  // the first one as well
  bool backwards = false;   // the last block first
};

// Of a kernel that starts now, where the schedule explores it.
StartPlan plan_start(const Kernel& kernel);
// Nothing goes on: lets a block start that could have long ago. False: there is none.
bool start_late_block();
bool late_blocks_wait();

}  // namespace warploom
