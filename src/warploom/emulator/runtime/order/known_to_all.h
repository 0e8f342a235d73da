// What every clock that is still in use knows, and what need not be remembered for that reason.
#pragma once

namespace warploom {

// Called when an operation has ended; does nothing unless much is remembered.
void forget_what_all_know();

}  // namespace warploom
