// Iterations of a program, by the moments at which it takes the time: it records an event whose
// time it asks for later, or reads a clock. Other records of events are there to order streams.
//
// At the first record that any process makes of each number, the work so far is noted, so that the
// driver can compare what is done between two of these points. Which records are points is known at
// the end of a run; the driver tells further runs. With `poison` all numbers that were written
// since the first communication (strict: that were written by anything but the host) are altered at
// points, if nothing is on its way: a program that computes its results anew does not read them
// again. And from the first point on, what is read of the memory that was written before is
// counted, whatever it looks like (carried.h).
//
// Between two points a program may repeat its work. The calls that a process queues are kept by
// name, so that the driver knows how often the same sequence recurs. With `stops` all processes
// wait where it starts again, and memory is altered there instead.
#pragma once

#include <cstddef>
#include <string>

#include "base/flags.h"

namespace warploom {

// The number of records at which memory is altered.
void configure_poison(unsigned records);
void configure_scramble();     // what is carried over is altered instead, when it is read
void configure_only_counts();  // nothing is altered: what is carried over and worked is counted
// "RANK:R,R,...": the records of a process that are points.
bool configure_points(const std::string& text);
void configure_meeting();  // at points, all processes wait until nothing is on its way
void configure_strict();   // what kernels wrote before the first communication counts as well
// "P:N:C,C,...": after point P, each process stops N - 1 times: before each C-th call that it
// queues, C being its own. False: it is none.
bool configure_stops(const std::string& text);
void note_call(const char* name);                   // the running host thread is about to queue it
void note_input(const void* p, std::size_t bytes);  // the host has put its own data there
// The running process records an event that can time, or reads a clock; the number of that record.
unsigned note_record();
void note_time_from(unsigned record);  // a time is taken from it; 0: from none
void note_clock();                     // the running process reads a clock of the host
void note_communication();             // data is about to go from one rank to another
std::string iteration_stats();  // for the end of the report; begins with a comma if there are any

}  // namespace warploom
