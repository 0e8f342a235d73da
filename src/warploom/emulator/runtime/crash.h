// Turns crashes of the program into findings.
#pragma once

namespace warploom {

void install_crash_handlers();

}  // namespace warploom
