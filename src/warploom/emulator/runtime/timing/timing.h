// Modelled time: who is when, and that things happen in the order of their times.
//
// Every fiber carries its own time. Work moves it on; a wait moves it to when what it waited for
// came. In a timed run the scheduler always runs the earliest, and an operation that others can see
// first waits until nobody is earlier (take_turn), so that the order in which fibers happen to run
// decides nothing.
#pragma once

#include <functional>

#include "base/flags.h"
#include "base/machine.h"
#include "schedule/fiber.h"

namespace warploom {

struct Runnable;

// The time of the running fiber, or of the event that is happening.
double time_now();
// The running fiber works for a while, or communicates; no effect outside of timed runs.
void advance(double nanoseconds);
void advance_communicating(double nanoseconds);
// The running fiber goes on no earlier than this; `began`: since when it was being transferred.
void reach(double time);
void reach(double time, double began);
// Before anything that others can see: waits until nobody is earlier than the running fiber.
void take_turn();
// The same for host calls that cost `nanoseconds`.
void host_call(double nanoseconds);
// Accesses and operations of the running host thread since it went on.
extern unsigned long long g_host_work;
// It queues work: what it computed since it last did so has taken time. What it does before its
// first kernel, collective or event, and before it reads from a device, is set-up; what comes after
// its last call is no part of what is timed.
void price_host_work(bool begins);
// A step of a loop that waits. False: nothing else is to come, so time does not pass by itself.
bool timed_poll();
// A step of what is, as far as one can tell, a long computation: others have their turn.
void timed_step();
// The code inside runs at another time than time_now(): the end of what it ends.
class AtTime {
 public:
  AtTime(double time, double began);
  ~AtTime();
  AtTime(const AtTime&) = delete;
  AtTime& operator=(const AtTime&) = delete;

 private:
  double time_, began_;
  Fiber* fiber_;
};

// --- used by the scheduler ---------------------------------------------------------------------
void at_time(double time, std::function<void()> event);
void timed_enqueue(Runnable* runnable);
// The next to run, after the events before it; nullptr: nothing is left.
Runnable* timed_next();
// `fiber` was woken now. True: it is later than that, and was queued for its own time.
bool timed_wake(Fiber* fiber);

}  // namespace warploom
