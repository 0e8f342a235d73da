// Turns crashes of the program into findings.
#pragma once

#include "schedule/fiber.h"

namespace warploom {

void install_crash_handlers();
// After so many seconds the run ends with a finding that says where it was. 0: never.
void start_time_limit(double seconds);
// What the report gets in such a scope it gets whole: the time limit ends the run behind it.
class WholeEntry {
 public:
  WholeEntry();
  ~WholeEntry();
  WholeEntry(const WholeEntry&) = delete;
  WholeEntry& operator=(const WholeEntry&) = delete;
};
// Where the running fiber is, also where a library of the program's has called the runtime.
Frames frames_of_call();

}  // namespace warploom
