// Time inside of the emulated machine: deterministic, and moving whenever something happens.
#pragma once

namespace warploom {

// Nanoseconds of emulated time. It orders events; it does not predict a real machine.
double virtual_ns();
// Somebody waits a while: time moves, and others run.
void pass_time(double nanoseconds);

}  // namespace warploom
