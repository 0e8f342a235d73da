// Fibers: every host thread of the program and every GPU thread that blocks is one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../../include/warploom/device.h"
#include "base/flags.h"
#include "base/layout.h"
#include "base/stats.h"
#include "metering/meter_tally.h"

namespace warploom {

struct GpuThread;
struct HostThread;
struct Block;
struct Process;
struct Closed;

// Offsets into the program's shared object, innermost first; 0 ends the list.
struct Frames {
  static constexpr int kMax = 12;
  uint32_t pc[kMax] = {};
  bool operator==(const Frames&) const = default;
};

// Why a fiber is not running; shown in a deadlock report.
struct WaitReason {
  const char* what = "running";              // "__syncthreads", "ncclGin::waitSignal", ...
  std::function<std::string()> detail = {};  // evaluated only when reported
  bool detail_stays_true = false;            // it also fits when the wait is over
};

// AtBarrier, InWarp: Blocked, at the barrier of its block or an operation of its warp.
enum class FiberState : uint8_t { Ready, Running, Blocked, AtBarrier, InWarp, Done };

// Where a fiber that is not running goes on. Assembly knows this layout.
struct Context {
  void* stack_pointer = nullptr;
  void* frame_pointer = nullptr;  // of a frame record of it, to walk its stack
  void* resume = nullptr;         // the instruction
};

constexpr std::size_t kGpuStackBytes = 256 << 10;
constexpr std::size_t kHostStackBytes = 64 << 20;

// Which parts of its stack a GPU thread has touched by addresses that it computed.
class TouchedLocals {
 public:
  // Adds these; returns how many bytes all of them are.
  std::size_t touch(uintptr_t place, std::size_t bytes) {
    if (lines_.empty()) lines_.resize(kGpuStackBytes / kLine);
    for (uintptr_t line = place / kLine; line <= (place + bytes - 1) / kLine; line++) {
      if (line < lines_.size() && !lines_[line]) lines_[line] = true, count_++;
    }
    return count_ * kLine;
  }
  void forget() {
    if (std::exchange(count_, 0)) std::fill(lines_.begin(), lines_.end(), false);
  }

 private:
  static constexpr std::size_t kLine = 32;
  std::vector<bool> lines_;
  std::size_t count_ = 0;
};

// What a switch, an access and a start touch comes first, in one cache line.
struct alignas(64) Fiber : Context {
  GpuThread* gpu = nullptr;    // the GPU thread that it runs now, if any
  Block* block = nullptr;      // the block that it works for, if any
  Process* process = nullptr;  // whose code it runs
  FiberState state = FiberState::Ready;
  bool polling = false;                // ready, but only re-reads memory until somebody changes it
  bool has_polled = false;             // `polled` means something
  bool in_exception = false;           // `exceptions` are to be put back
  int device = kNoDevice;              // whose memory it may touch without a second look
  char* stack = nullptr;               // lowest address
  uint32_t kernel = 0;                 // the number of the one that it worked for last
  uint32_t futile = 0;                 // read-modify-writes of `polled` since one changed it
  const WaitReason* reason = nullptr;  // while it is Blocked
  HostThread* host = nullptr;          // the host thread that it is, if any
  const void* polled = nullptr;        // last address that it read as a poll
  void* exceptions[2] = {};            // the C++ library's per-thread exception state
  std::size_t stack_bytes = 0;
  const Closed* closed = nullptr;  // parts of its stack: into_program.h
  std::function<void()> entry;
  uint64_t polls_since = 0;         // g_progress when it began to poll several places
  uint32_t polls = 0;               // and how often it has done so
  uint32_t polls_with_changes = 0;  // the same from event to event: see note_event
  uint64_t polls_since_event = 0;
  // The least hash of what it read there in this round and the last: see note_look.
  uint64_t saw = kSawNothing, saw_before = kSawNothing;
  // Modelled time (timing.h), and how much of it the fiber waited or was communicating.
  double time = 0, waited = 0, communicated = 0;
  double polling_since = 0, polling_until = 0;
  double loading = 0;  // the longest latency of loads whose values nobody has used yet
  uint64_t polled_at = 0;
  uint64_t computed_at = 0;      // g_progress when it began to compute without any
  uint32_t turns_computed = 0;   // and how many turns it has had
  uint64_t accesses_before = 0;  // that were no looks, up to its last step of polling
  // In a loop whose iterations overlap: what it has paid for their loads, and the longest of these.
  bool unrolled = false;
  double overlapped = 0, longest_load = 0;
  uint32_t iteration_loads = 0;  // of the iteration so far
  uint32_t loads = 0;            // in this segment of its block, since its warp met
  uint64_t operations = 0;       // in this segment of its block (meter.h)
  // Of the thread: what its instructions compute, and what its text told of that (meter_tally.h).
  uint64_t tallied = 0, told = 0;
  TouchedLocals local;
  // Where its recursion is next to be looked at: see warploom_guarded_recursion.
  uintptr_t recursed_to = ~uintptr_t{0};
  uint32_t segment = 0;
  // What its next atomic access compares with, if that is a compare-and-swap.
  bool compares = false;
  uint64_t compared[2] = {};
  static constexpr int kNoDevice = -2;
  static constexpr uint64_t kSawNothing = ~uint64_t{0};
};

// The running fiber; nullptr in the scheduler. Assembly knows it by this name.
extern Fiber* g_current __asm__("warploom_running");

Fiber* create_host_fiber(std::function<void()> entry);
// Works for `block` until no thread of it is left to start (work_for_block).
Fiber* create_block_fiber(Block& block);
void work_for_block();
void resume(Fiber* fiber);    // scheduler to fiber; returns when a fiber switches back
void switch_to_scheduler();   // fiber to scheduler
void switch_to(Fiber* next);  // fiber to fiber
extern Context g_scheduler;
// The C++ library keeps the exceptions in flight per OS thread; ours are per fiber.
extern void** g_exceptions;
// From now on the C++ library is the one that the program at `handle` is linked to.
void find_exceptions(void* handle);
// Throws std::bad_alloc by that library.
[[noreturn]] void throw_for_program();
// Makes `next` the running fiber: what is left to do is to load its context.
inline void hand_over(Fiber* next);
// Stacks of many threads do not fit into the first cache: that of the next one is fetched early.
// Inlined for certain: the compiler takes a call of it for one without an effect, and drops it.
[[gnu::always_inline]] inline void prefetch_stack(const Fiber& next) {
  const char* stack = static_cast<const char*>(next.stack_pointer);
  for (int line = 0; line < 2; line++) __builtin_prefetch(stack + 64 * line);
}
bool stack_overflowed(const Fiber* fiber);
// The stacks of GPU threads lie in one range, so that an address tells whose stack it is.
inline bool in_gpu_stack(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - g_places.gpu_stacks < g_places.gpu_stacks_bytes;
}

// Is it the stack of the running fiber, a GPU thread?
inline bool in_own_stack(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(g_current->stack) <
         kGpuStackBytes;
}

[[gnu::always_inline]] inline void leave(Fiber* fiber) {
  if (g_timed) take_tally(*fiber);
  if (!g_exceptions[0] && !g_exceptions[1]) return;
  fiber->in_exception = true;
  for (int i = 0; i < 2; i++) fiber->exceptions[i] = std::exchange(g_exceptions[i], nullptr);
}

[[gnu::always_inline]] inline void enter(Fiber* fiber) {
  g_stats.switches++;
  g_current = fiber;
  fiber->state = FiberState::Running;
  // A GpuThread begins with its place.
  if (fiber->gpu) g_here._Wthread = *reinterpret_cast<const ThreadPlace*>(fiber->gpu);
  if (!fiber->in_exception) return;
  fiber->in_exception = false;
  for (int i = 0; i < 2; i++) g_exceptions[i] = fiber->exceptions[i];
}

[[gnu::always_inline]] inline void hand_over(Fiber* next) {
  leave(g_current);
  enter(next);
}

// Block fibers without a block: the first `count` of `fibers`, which has room for all.
struct IdleFibers {
  std::vector<Fiber*> fibers;
  std::size_t count = 0;
};
extern IdleFibers g_idle;

// Goes on as `context` says, and saves nothing. It makes no call: the processor foresees returns by
// the calls before them, and so those of the threads that end one after another.
[[noreturn, gnu::always_inline]] inline void go_on(const Context& context) {
#if defined(__x86_64__)
  asm volatile("movq (%0), %%rsp\n\tmovq 8(%0), %%rbp\n\tjmp *16(%0)" : : "r"(&context) : "memory");
#else
  asm volatile("ldp x9, x29, [%0]\n\tldr x10, [%0, #16]\n\tmov sp, x9\n\tmov x30, xzr\n\tbr x10"
               :
               : "r"(&context)
               : "x9", "x10", "memory");
#endif
  __builtin_unreachable();
}

// The running fiber is idle from now on; `start` is what its stack pointer was at first.
[[noreturn, gnu::always_inline]] inline void retire(void* start, Fiber* next) {
  Fiber* self = g_current;
  self->state = FiberState::Done;
  self->stack_pointer = start;
  self->frame_pointer = nullptr;
  self->resume = reinterpret_cast<void*>(&work_for_block);
  g_idle.fibers[g_idle.count++] = self;
  if (!next) go_on(g_scheduler);
  hand_over(next);
  go_on(*next);
}

}  // namespace warploom
