// Iterations of a program, by the moments at which it records events to time itself.
//
// At the first record that any process makes of each number, the work so far is noted, so that the
// driver can compare what is done between two records. With `poison` all numbers that were written
// since the first communication are altered then, if nothing is on its way: a program that computes
// its results anew does not read them again. And from the first such moment on, what is read of the
// memory that was written before is counted, whatever it looks like (carried.h).
//
// Between two records a program may repeat its work. The calls that a process queues are kept by
// name, so that the driver knows how often the same sequence recurs. With `stops` all processes
// wait where it starts again, until nothing is on its way, and memory is altered there instead.
#pragma once

#include <cstddef>
#include <string>

namespace warploom {

extern bool g_poisoning;
// The number of records at which memory is altered.
void configure_poison(unsigned records);
void configure_scramble();  // what is carried over is altered instead, when it is read
// "R:N:C,C,...": after record R, each process stops N - 1 times: before each C-th call that it
// queues, C being its own. False: it is none.
bool configure_stops(const std::string& text);
void note_call(const char* name);                   // the running host thread is about to queue it
void note_input(const void* p, std::size_t bytes);  // the host has put its own data there
void note_record();             // the running process records an event that can time
void note_communication();      // data is about to go from one rank to another
std::string iteration_stats();  // for the end of the report; begins with a comma if there are any

}  // namespace warploom
