// What happened when in a timed run, for the driver.
#pragma once

#include "schedule/fiber.h"

namespace warploom {

struct Stream;

enum class SpanKind { Kernel, Copy, Collective, Host };

// From `start` to `end`, in nanoseconds; `waited` of that for another rank, and `communicated` on
// the way between two. The rest is work of the device.
struct Span {
  SpanKind kind;
  int rank;
  const Stream* stream;  // nullptr: the host
  const char* name;      // must outlive the run
  double start, end, waited, communicated;
};

void add_span(const Span& span);
Span host_wait(const char* name, double start, double end);
// The running host thread was given the time between two events, which happened then.
void add_interval(double start, double end);
// Sends everything to the driver; called once, at the end.
void report_timeline();

}  // namespace warploom
