// What the calls share that stand for the C library's threads and locks. For their sources only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <utility>

#include "schedule/scheduler.h"

namespace warploom {

// Before the runtime follows a pointer that a call of `caller` was given. What a library keeps for
// itself is not the program's.
void look_at_object(const volatile void* p, std::size_t bytes, bool write, const void* caller);
template <class Object>
void look_at(const Object* p, bool write, const void* caller) {
  look_at_object(p, sizeof *p, write, caller);
}

// A lock is free again. Where nobody waits for it that is no event: loops that take and give it in
// each round would keep all else from its turn.
inline void tell_waiters(WaitQueue& waiters) {
  waiters.empty() ? note_progress() : waiters.notify_all();
}

// How long a wait of the running host thread may last. Emulated time hardly passes, and a device
// may take any time: at random, and first of all in the lazy schedule, a wait that is limited to a
// second or less ends before others have got anywhere; else it ends when nothing else can go on.
class Limit {
 public:
  static Limit none() { return Limit(-1); }
  // Until a moment of the program's clocks.
  static Limit until(const timespec& moment);
  static Limit of(const timespec& duration);
  // False: the time is over.
  template <class Predicate>
  bool wait(WaitQueue& queue, Predicate&& satisfied, const WaitReason& reason) const {
    if (nanoseconds_ < 0) {
      queue.wait_until(satisfied, reason);
      return true;
    }
    const double began = start();
    bool good = satisfied();
    if (!good && ends_early()) {
      for (auto turns = few_turns(); turns > 0 && !good; turns--) {
        yield_current();
        good = satisfied();
      }
    } else if (!good) {
      good = queue.wait_or_expire(satisfied, reason, static_cast<uint64_t>(nanoseconds_));
    }
    if (!good) pass(began);
    return good;
  }

 private:
  explicit Limit(double nanoseconds) : nanoseconds_(nanoseconds) {}
  static double start();
  static uint64_t few_turns();
  bool ends_early() const;
  void pass(double began) const;  // the clocks show that the time is over
  double nanoseconds_;            // below 0: for ever
};

// Else a call is refused with EINVAL.
inline bool is_time(const timespec* moment) {
  return moment->tv_nsec >= 0 && moment->tv_nsec < 1'000'000'000;
}

// The system call of futexes, by its arguments; -1 with errno where it fails.
long futex_call(const long (&arguments)[6], const void* caller);

}  // namespace warploom
