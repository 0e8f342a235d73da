// Turns crashes of the program into findings.
#pragma once

#include <ucontext.h>

#include "schedule/fiber.h"

namespace warploom {

void install_crash_handlers();
// Where the running fiber was interrupted by a signal: its handler has a stack of its own, so the
// walk starts from the interrupted registers.
Frames interrupted_frames(const ucontext_t& context);
// Where the running fiber is, also where a library of the program's has called the runtime.
Frames frames_of_call();

}  // namespace warploom
