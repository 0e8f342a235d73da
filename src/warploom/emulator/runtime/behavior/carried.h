// What device memory carries from one iteration of a program to the next.
//
// Memory is kept as it is when ranks first communicate. What differs from that at a later moment
// was computed since. From then on each access is looked at: bytes that are read before they are
// written again were carried over. It does not matter what they look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/flags.h"

namespace warploom {

// Keeps device memory, pinned memory and device variables as they are. False: it is too much.
bool keep_memory();
// The host put inputs there: they count as if they had been there from the start.
// Strict: what else there is in a range that nobody knows yet does not count so.
void keep_upload(const void* p, std::size_t bytes, bool strict);
// Calls `change` for each piece, of at most 8 bytes, that is not as it was kept.
void for_each_change(const std::function<void(char*, std::size_t)>& change);

// Calls `take` for each piece of memory that devices see: allocations and variables.
void for_each_range(const std::function<void(char*, std::size_t)>& take);

// What is carried over changes before it is used. The first of what atomics and volatile accesses
// read stays as it is, for flags and counters.
void scramble_carried();
// From now on what differs from what was kept is carried over, when it is read.
void start_carrying();
bool is_carrying();
// An access that reads, or writes and nothing else; strong: an atomic or a volatile one.
void note_carried(const void* p, std::size_t bytes, bool reads, bool strong);
// A signal's value is read that was there before. True: tell something else.
bool note_carried_signal(int device);
// The host copies its own memory to the device.
void note_carried_upload(void* p, std::size_t bytes);
// The memory is about to be given back.
void end_carried(uintptr_t start, std::size_t bytes);
// How much was carried over, and how much of that never changed afterwards: results that are kept,
// where counters and flags do change.
std::string carried_stats();  // begins with a comma if there are any

// While this lives, reads are not counted: what the host takes is no longer the devices'.
class Uncarried {
 public:
  explicit Uncarried(bool applies);
  ~Uncarried();

 private:
  bool before_;
};

// While this lives, what the host stores was sent to it, and was looked at where it was read.
class Delivered {
 public:
  explicit Delivered(bool applies);
  ~Delivered();

 private:
  bool before_;
};

}  // namespace warploom
