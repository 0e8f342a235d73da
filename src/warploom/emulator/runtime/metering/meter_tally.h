// What the instructions of the program compute, counted as they run.
//
// The price of arithmetic is told by the text (metering.py), which a parser reads and may misread.
// So the guard lets each block of a timed program add to a counter what its instructions do
// (guard/tally.h), whatever text they are of. A thread pays for the larger of the two.
#pragma once

#include <cstdint>

namespace warploom {

struct BlockMeter;
struct Fiber;

// Known to the guard, which writes it into the program: an address that needs no register. Of the
// program's own accesses none may go there, as it owns nothing there.
constexpr uintptr_t kTallyPlace = 0x20000000;

void map_tally();
// The running fiber has computed what was counted since the last call.
void take_tally(Fiber& fiber);
// What the running host thread has computed since the last call, in operations.
unsigned long long host_tally();
// The same of one that does not run.
unsigned long long settled_tally(Fiber& fiber);
// From here on it counts for another thread.
void begin_tally(Fiber& fiber);
// Lets the thread pay for what its text did not tell.
void price_tally(Fiber& fiber, BlockMeter& meter);

}  // namespace warploom
