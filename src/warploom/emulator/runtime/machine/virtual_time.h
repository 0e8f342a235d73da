// Time inside of the emulated machine: deterministic, and moving whenever something happens.
#pragma once

#include <ctime>

namespace warploom {

// Nanoseconds of emulated time. It orders events; it does not predict a real machine.
double virtual_ns();
// What the program's clocks show: they begin at a moment of the run's own and go at a pace of their
// own, so that nothing can tell runs apart by them. With seed 0 they show the time as it is.
double shown_ns(double nanoseconds);
double shown_span(double nanoseconds);  // of a difference between two times
// What events tell of the time between them: in random schedules it may be that of a machine that
// is slower by far, for who goes by it.
double shown_interval(double nanoseconds);
// A host clock that is read: a loop that only does that is there to pass time.
double host_clock_ns();
// Until a moment of the program's clocks; below 0: it has passed.
double nanoseconds_until(const timespec& moment);
// It is `moment` for the running fiber now, if it was earlier; nobody else runs meanwhile.
void let_time_pass(double moment);
// Modelled clocks begin at a fixed moment: 2025-01-01.
constexpr time_t kEpoch = 1735689600;
// Somebody waits a while: time moves, and others run.
void pass_time(double nanoseconds);

}  // namespace warploom
