// Decides what runs next. Deterministic for a seed; detects that nothing can move.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/fiber.h"
#include "schedule/trace.h"

namespace warploom {

// Something that the scheduler can run for a while: a host fiber, a block, a stream, the network.
struct Runnable {
  enum class Kind { Host, Block, Stream, Network };
  explicit Runnable(Kind k) : kind(k) {}
  virtual ~Runnable() = default;
  virtual void run() = 0;
  Kind kind;
  bool queued = false;
};

void enqueue(Runnable* runnable);  // no effect if it is queued already
void run_until_done();             // returns when every host thread has ended, or on deadlock

// --- called on a fiber -------------------------------------------------------------------------
void block_current(const WaitReason& reason);  // sleeps until wake()
void yield_current();                          // goes to the end of the queue, counted as progress
// As yield, for a loop that re-reads memory and makes no progress by itself. `computing`: it may as
// well be a long computation, so it never counts as stuck; the network gets its turn all the same.
void poll_current(bool computing = false);
// The same for a loop that re-reads up to 16 bytes, which stay readable; `reason`: what it waits
// for.
void poll_word(const void* address, unsigned bytes, const WaitReason* reason = nullptr);
void wake(Fiber* fiber);
void wake_all(std::vector<Fiber*>& waiting);  // and empties it
// The same for fibers that all work for `block`, in one step.
void wake_block(Block& block, std::vector<Fiber*>& waiting);
// Counts changes that a polling fiber may be waiting for. Loops that poll make some themselves:
// they store to memory, and meet at barriers of their block.
extern uint64_t g_progress;
inline void note_progress() { g_progress++; }
// Of them, those that no polling loop makes in each of its rounds.
extern uint64_t g_events;
inline void note_event() {
  g_progress++;
  g_events++;
}
// The running fiber, which polls several places, has read one of them.
void note_look(const void* address, unsigned bytes);

// Fibers that wait for a condition; whoever may have changed it calls notify_all().
class WaitQueue {
 public:
  template <class Predicate>
  void wait_until(Predicate&& satisfied, const WaitReason& reason) {
    bool slept = false;
    for (; !satisfied(); slept = true) {
      if (g_tracing && !slept) trace_wait(reason, WaitStep::Begins);
      sleep(reason);
    }
    if (g_tracing) trace_wait(reason, slept ? WaitStep::Ends : WaitStep::WasOver);
  }
  // The same, but gives up (false) when nothing else can go on: then the time is over. Of several
  // such waits the shortest goes first.
  template <class Predicate>
  bool wait_or_expire(Predicate&& satisfied, const WaitReason& reason, uint64_t cycles) {
    TimedWait timed{this, nullptr, cycles};
    while (!satisfied()) {
      if (timed.expired) return false;
      sleep_timed(timed, reason);
    }
    return true;
  }
  void notify_all();
  bool empty() const { return waiting_.empty(); }

 private:
  friend bool expire_wait();
  struct TimedWait {
    WaitQueue* queue;
    Fiber* fiber;
    uint64_t cycles;
    bool expired = false;
  };
  static std::vector<TimedWait*> timed_;
  void sleep(const WaitReason& reason);
  void sleep_timed(TimedWait& timed, const WaitReason& reason);
  std::vector<Fiber*> waiting_;
};

// Says who waits for what, and ends the run.
[[noreturn]] void report_deadlock();

uint64_t random_below(uint64_t bound);  // from the seeded generator; 0 for bound 0
bool random_schedule();                 // false: always take the oldest (seed 0 and not random)

}  // namespace warploom
