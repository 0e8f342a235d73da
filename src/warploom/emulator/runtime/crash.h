// Turns crashes of the program into findings.
#pragma once

namespace warploom {

void install_crash_handlers();
// After so many seconds the run ends with a finding that says where it was. 0: never.
void start_time_limit(double seconds);

}  // namespace warploom
