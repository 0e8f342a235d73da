// Fibers: every host thread of the program and every GPU thread that blocks is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace warploom {

struct GpuThread;
struct HostThread;
struct Block;
struct Process;

// Offsets into the program's shared object, innermost first; 0 ends the list.
struct Frames {
  static constexpr int kMax = 12;
  uint32_t pc[kMax] = {};
};

// Why a fiber is not running; shown in a deadlock report.
struct WaitReason {
  const char* what = "running";              // "__syncthreads", "ncclGin::waitSignal", ...
  std::function<std::string()> detail = {};  // evaluated only when reported
  bool detail_stays_true = false;            // it also fits when the wait is over
};

enum class FiberState : uint8_t { Ready, Running, Blocked, Done };

// What a switch, an access and a start touch comes first, in one cache line.
struct alignas(64) Fiber {
  void* stack_pointer = nullptr;
  GpuThread* gpu = nullptr;    // the GPU thread that it runs now, if any
  Block* block = nullptr;      // the block that it works for, if any
  Process* process = nullptr;  // whose code it runs
  FiberState state = FiberState::Ready;
  bool polling = false;                // ready, but only re-reads memory until somebody changes it
  bool has_polled = false;             // `polled` means something
  bool in_exception = false;           // `exceptions` are to be put back
  int device = kNoDevice;              // whose memory it may touch without a second look
  uint32_t budget = 0;                 // accesses since it last yielded
  const WaitReason* reason = nullptr;  // while it is Blocked
  char* stack = nullptr;               // lowest address
  HostThread* host = nullptr;          // the host thread that it is, if any
  const void* polled = nullptr;        // last address that it read as a poll
  void* exceptions[2] = {};            // the C++ library's per-thread exception state
  std::size_t stack_bytes = 0;
  std::function<void()> entry;
  uint64_t polls_since = 0;  // g_progress when it began to poll several places
  uint32_t polls = 0;        // and how often it has done so
  // Modelled time (timing.h), and how much of it the fiber waited or was communicating.
  double time = 0, waited = 0, communicated = 0;
  double polling_since = 0, polling_until = 0;
  double loading = 0;  // the longest latency of loads whose values nobody has used yet
  uint64_t polled_at = 0;
  uint64_t operations = 0;  // in this segment of its block (meter.h)
  uint32_t segment = 0;
  static constexpr int kNoDevice = -2;
};

extern Fiber* g_current;  // the running fiber; nullptr in the scheduler

constexpr std::size_t kGpuStackBytes = 256 << 10;
constexpr std::size_t kHostStackBytes = 64 << 20;

Fiber* create_host_fiber(std::function<void()> entry);
// Works for `block` until no thread of it is left to start; is then used for another one.
Fiber* create_block_fiber(Block& block);
[[noreturn]] void work_for_blocks();
void retire();                // the running fiber is Done; returns when it works for another block
void resume(Fiber* fiber);    // scheduler to fiber; returns when a fiber switches back
void switch_to_scheduler();   // fiber to scheduler
void switch_to(Fiber* next);  // fiber to fiber
// The running fiber has saved its registers at `stack_pointer`; what to load instead, so that
// `next` runs, or the scheduler (nullptr).
void* hand_over(void* stack_pointer, Fiber* next);
// Stacks of many threads do not fit into the first cache: that of the next one is fetched early.
inline void prefetch_stack(const Fiber& next) {
  const char* stack = static_cast<const char*>(next.stack_pointer);
  for (int line = 0; line < 4; line++) __builtin_prefetch(stack + 64 * line);
}
// Frame pointer of a fiber that is not running, to walk its stack.
void* saved_frame_pointer(const Fiber* fiber);
bool stack_overflowed(const Fiber* fiber);
// The stacks of GPU threads lie in one fixed range, so that an address tells whose stack it is.
constexpr uintptr_t kGpuStacks = 0x080000000000;
constexpr std::size_t kGpuStacksBytes = std::size_t{2} << 40;
inline bool in_gpu_stack(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - kGpuStacks < kGpuStacksBytes;
}

}  // namespace warploom
