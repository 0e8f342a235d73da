// Turns crashes of the program into findings.
#pragma once

#include "fiber.h"

namespace warploom {

void install_crash_handlers();
// After so many seconds the run ends with a finding that says where it was. 0: never.
void start_time_limit(double seconds);
// Where the running fiber is, also where a library of the program's has called the runtime.
Frames frames_of_call();

}  // namespace warploom
