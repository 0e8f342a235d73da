// The access hooks that -fsanitize=thread compiles into the program, with our own meaning.
#include <cstring>

#include "access/alignment.h"
#include "access/fast_path.h"
#include "access/guard_hooks.h"
#include "access/quick_access.h"
#include "base/polling.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/results.h"
#include "behavior/spoil.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/frame_links.h"
#include "order/host_copies.h"
#include "order/race.h"
#include "order/stale.h"
#include "report/report.h"
#include "schedule/scheduler_idle.h"
#include "timing/timing.h"

namespace warploom {

int g_plain_device = kNoThread;
int g_accesses_left = kAccessesInTurn;

namespace {

#define RETURN_ADDRESS __builtin_return_address(0)  // of the function that this is inlined into

int g_host_accesses_left = kAccessesInTurn;

// Accesses outside of the emulated memory: a thread's own stack, the program's globals, the heap.
void unshadowed_access(const void* p, std::size_t bytes, bool write, const void* return_address) {
  const GpuThread* thread = g_current->gpu;
  if (!thread) {
    if (check_host_memory(p, bytes, write) && host_copies_pending()) {
      check_host_copies(p, bytes, write, program_offset(return_address));
    }
    return;
  }
  if (in_own_stack(p)) {
    if (write) check_stack_store(p, bytes);
    return;
  }
  check_access(p, bytes, write);
}

// Where in the program the running fiber is, for an access with this return address.
inline uint32_t place(const Fiber& self, const void* return_address) {
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  const Process& process = *self.process;
  return address - process.base < process.end - process.base
             ? static_cast<uint32_t>(address - process.base - 1)
             : 0;
}

[[gnu::noinline]] void on_other_access(const void* p, std::size_t bytes, bool write,
                                       const void* return_address) {
  const bool variable = find_variable(p);
  if (!in_arena(p) && !variable) {
    unshadowed_access(p, bytes, write, return_address);
    return;
  }
  if (g_spoiling) settle_spoiled();
  g_stats.accesses++;
  if (write) note_progress();
  GpuThread* thread = g_current->gpu;
  if (thread && g_timed) meter_access(p, bytes, write);
  if (!check_access(p, bytes, write)) return;
  if (!thread && !write) g_host_looked = true;
  if (g_carrying) note_carried(p, bytes, !write, false);
  if (g_spoiling) spoil_access(p, bytes, write, false);
  if (!thread) {
    note_host_access(p, bytes, write, false);
  } else if (write) {
    note_device_stores(p, bytes);
  }
  if (!g_config.race) return;
  if (thread && variable) know_variable(reinterpret_cast<uintptr_t>(p));
  const uint32_t pc = program_offset(return_address);
  if (!write && may_be_fresh(reinterpret_cast<uintptr_t>(p))) note_fresh_read(p, bytes, pc);
  const Actor actor = current_actor(pc);
  if (write) {
    access_write(actor, p, bytes);
  } else {
    access_read(actor, p, bytes);
  }
}

// Is it more than memory of the host thread's own process, of which nothing can be said?
HOT bool watched_on_host(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return !g_host_view.owns(address) || g_host_watched.holds(address) ||
         g_window_memory.holds(address);
}

// Code of the program that runs without a thread of its own (a destructor of kernel arguments).
[[gnu::noinline, gnu::cold]] void on_lost_access(const void* p, std::size_t bytes, bool write) {
  if (!in_arena(p)) check_host_memory(p, bytes, write);
}

template <unsigned bytes, bool write>
[[gnu::noinline]] void watch_access(uintptr_t start, uintptr_t distance,
                                    const void* return_address) {
  const Fiber& self = *g_current;
  if (g_timed) [[unlikely]]
    meter_access(reinterpret_cast<const void*>(start), bytes, write);
  if (g_carrying) [[unlikely]]
    note_carried(reinterpret_cast<const void*>(start), bytes, !write, false);
  if (!g_config.race) return;
  const uint32_t pc = place(self, return_address);
  if (!write && may_be_fresh(start)) [[unlikely]]
    note_fresh_read(reinterpret_cast<const void*>(start), bytes, pc);
  if (g_stores_pending) [[unlikely]]
    settle_stores();
  quick_access<bytes, write>(SlowViewer(), start, distance, pc);
}

// Pinned and managed memory has a history; the rest of the host's is looked at only while a copy
// may still change it.
template <unsigned bytes, bool write>
[[gnu::noinline]] void on_host_access(const void* p, const void* return_address) {
  g_host_work++;
  if (--g_host_accesses_left <= 0) spend_budget(p);
  if (!watched_on_host(p)) return;
  const Fiber& self = *g_current;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const KnownAllocation& known = known_allocation(start);
  const bool allowed =
      known.device == kOfNoDevice && known.holds(start, bytes) && known.allocation->is_of(self);
  if (!allowed || !g_config.race || !self.host || !self.host->op) {
    on_other_access(p, bytes, write, return_address);
    return;
  }
  g_stats.accesses++;
  if (write) note_progress();
  if (!write) g_host_looked = true;
  note_host_touch(p, bytes, write);
  const uint32_t pc = place(self, return_address);
  if (!write && may_be_fresh(start)) [[unlikely]]
    note_fresh_read(p, bytes, pc);
  if (g_stores_pending) [[unlikely]]
    settle_stores();
  quick_access<bytes, write>(HostViewer(*self.host), start, 0, pc);
}

template <unsigned bytes, bool write, bool aligned>
[[gnu::noinline]] void on_thread_access(const void* p, const void* return_address);

// The budget is spent, or the address is no multiple of the width.
template <unsigned bytes, bool write, bool aligned>
[[gnu::noinline, gnu::cold]] void on_rare_access(const void* p, const void* return_address) {
  if (aligned && reinterpret_cast<uintptr_t>(p) % bytes) report_misaligned(p, bytes, write);
  if (g_accesses_left <= 0) spend_budget(p);
  g_accesses_left++;  // it has been counted
  on_thread_access<bytes, write, false>(p, return_address);
}

// Without a stack frame: the stacks of many threads do not fit into the first cache.
template <unsigned bytes, bool write, bool aligned>
[[gnu::noinline]] void on_thread_access(const void* p, const void* return_address) {
  const Fiber& self = *g_current;
  const auto start = reinterpret_cast<uintptr_t>(p);
  if (--g_accesses_left <= 0 || (aligned && start % bytes)) [[unlikely]]
    return on_rare_access<bytes, write, aligned>(p, return_address);
  uintptr_t distance = 0;
  if (!plainly_allowed<write>(self, start, start + bytes, distance)) {
    g_stats.accesses--;
    if (!in_own_stack(p)) {
      on_other_access(p, bytes, write, return_address);
      return;
    }
    if (g_timed) meter_local(p, bytes, write);
    if (write) check_stack_store(p, bytes);
    return;
  }
  if (write) {
    note_progress();
    note_device_store(start - distance, bytes);
  }
  if (g_watching) watch_access<bytes, write>(start, distance, return_address);
}

template <unsigned bytes, bool write, bool aligned>
[[gnu::noinline]] void on_watched_access(const void* p, const void* return_address) {
  if (!g_current) [[unlikely]]
    return on_lost_access(p, bytes, write);
  if (g_current->gpu) {
    on_thread_access<bytes, write, aligned>(p, return_address);
  } else {
    on_host_access<bytes, write>(p, return_address);
  }
}

// An access of a thread that is watched for races alone: what takes no call.
template <unsigned bytes, bool write, bool aligned>
[[gnu::noinline]] void on_checked_access(const void* p, const void* return_address) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  if (--g_accesses_left > 0 && !(aligned && start % bytes) && !g_stores_pending) [[likely]] {
    if (in_own_stack(p)) {
      g_stats.accesses--;
      if (write) check_stack_store(p, bytes);
      return;
    }
    uintptr_t distance = 0;
    const bool own = own_memory<bytes, aligned>(start);
    if ((own || plainly_allowed<write>(*g_current, start, start + bytes, distance)) &&
        watch_fast<bytes, write>(start, distance, return_address)) {
      if (write && !own) note_device_store(start - distance, bytes);
      return;
    }
  }
  g_accesses_left++;
  on_thread_access<bytes, write, aligned>(p, return_address);
}

// Most accesses end here, where they are not watched. There is one way on and no call before it, so
// that the hook makes no stack frame.
template <unsigned bytes, bool write, bool aligned = false>
HOT void on_access(const void* p) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  const int device = g_plain_device;
  if (device >= 0) {
    const KnownAllocation& known = known_allocation(start);
    if ((aligned ? known.holds_aligned(start, bytes) : known.holds(start, bytes)) &&
        known.device == device && !(aligned && start % bytes) && g_accesses_left > 1) {
      g_accesses_left--;
      if (write) note_progress();
      return;
    }
  } else if (device == kCheckedThreads) {
    on_checked_access<bytes, write, aligned>(p, RETURN_ADDRESS);
    return;
  } else if (device == kNoThread && !watched_on_host(p)) {
    // Who only writes waits for nobody.
    if (write) {
      g_host_work++;
      if (g_host_view.on_stack(start)) check_stack_store(p, bytes);
      return;
    }
    if (g_host_accesses_left > 1) {
      g_host_accesses_left--;
      g_host_work++;
      return;
    }
  }
  on_watched_access<bytes, write, aligned>(p, RETURN_ADDRESS);
}

template <bool write>
void watch_words(uintptr_t start, std::size_t bytes, uintptr_t distance,
                 const void* return_address) {
  const Fiber& self = *g_current;
  const auto* p = reinterpret_cast<const void*>(start);
  if (g_timed) meter_access(p, bytes, write);
  if (g_carrying) note_carried(p, bytes, !write, false);
  if (!g_config.race) return;
  const uint32_t pc = place(self, return_address);
  if (!write && may_be_fresh(start)) note_fresh_read(p, bytes, pc);
  if (g_stores_pending) settle_stores();
  quick_words<write>(SlowViewer(), start, bytes, distance, pc);
}

// Structures are copied as a whole, and most are small.
template <bool write>
bool on_words(const void* p, std::size_t bytes, const void* return_address) {
  constexpr std::size_t kSmall = 256;
  const auto start = reinterpret_cast<uintptr_t>(p);
  uintptr_t distance = 0;
  if (start % 4 || bytes % 4 || bytes > kSmall ||
      !plainly_allowed<write>(*g_current, start, start + bytes, distance)) {
    return false;
  }
  if (write) {
    note_progress();
    note_device_stores(p, bytes);
  }
  if (g_watching) watch_words<write>(start, bytes, distance, return_address);
  return true;
}

template <bool write>
void on_range(const void* p, std::size_t bytes, const void* return_address) {
  if (bytes == 0) return;
  Fiber* self = g_current;
  if (!self) return on_lost_access(p, bytes, write);
  int& left = self->gpu ? g_accesses_left : g_host_accesses_left;
  if (--left <= 0) spend_budget(p);
  if (self->gpu) {
    if (on_words<write>(p, bytes, return_address)) return;
    g_stats.accesses--;  // counted below
    if (in_own_stack(p)) {
      if (g_timed) meter_local(p, bytes, write);
      if (write) check_stack_store(p, bytes);
      return;
    }
  } else {
    g_host_work += (bytes + 7) / 8;
    const auto start = reinterpret_cast<uintptr_t>(p);
    if (write && g_host_view.on_stack(start)) check_stack_store(p, bytes);
    if (g_host_view.owns(start, bytes) && !host_watches(p, bytes)) return;
  }
  on_other_access(p, bytes, write, return_address);
}

// An access that the guard found without a hook. As a hook would be: reads and writes of the widths
// of one instruction, and ranges.
template <bool write>
void on_guarded(const void* p, std::size_t bytes, const void* return_address) {
  if (is_looked_at(g_current, p, bytes, write)) return;
  switch (bytes) {
    case 1:
      return on_watched_access<1, write, false>(p, return_address);
    case 2:
      return on_watched_access<2, write, false>(p, return_address);
    case 4:
      return on_watched_access<4, write, false>(p, return_address);
    case 8:
      return on_watched_access<8, write, false>(p, return_address);
    case 16:
      return on_watched_access<16, write, false>(p, return_address);
    default:
      return on_range<write>(p, bytes, return_address);
  }
}

void require_aligned(const void* p, unsigned bytes, bool write) {
  if (reinterpret_cast<uintptr_t>(p) & (bytes - 1)) report_misaligned(p, bytes, write);
}

// Volatile accesses are relaxed and of system scope, as CUDA documents them.
HOT void on_volatile(const void* p, unsigned bytes, bool write) {
  if (g_current && !g_current->gpu) g_host_work++;
  if (in_arena(p) || (g_current && find_variable(p))) {
    // A device that waits for it sees it when the host has come so far.
    if (write && g_timed) [[unlikely]]
      price_host_work(false);
    strong_access({p, bytes, !write, write, Order::Relaxed, Scope::System, true}, RETURN_ADDRESS);
  } else if (!g_current) {
    on_lost_access(p, bytes, write);
  } else {
    const bool own =
        g_current->gpu ? in_own_stack(p) : g_host_view.owns(reinterpret_cast<uintptr_t>(p));
    if (own && write) check_stack_store(p, bytes);
    if (!own || (!g_current->gpu && host_watches(p, bytes))) {
      unshadowed_access(p, bytes, write, RETURN_ADDRESS);
    }
  }
}

}  // namespace

void program_reads(const void* p, std::size_t bytes, const void* caller) {
  on_range<false>(p, bytes, caller);
}

void program_writes(const void* p, std::size_t bytes, const void* caller) {
  on_range<true>(p, bytes, caller);
}

void note_poll(const void* address, unsigned bytes, bool changes) {
  Fiber* self = g_current;
  if (g_noting_places) note_place(address);
  // In modelled time, who takes one piece of work after the other gives way to those who are
  // earlier.
  if (changes && g_timed && self->polled == address) take_turn();
  // Not every one that changes nothing polls: some add 0.
  constexpr uint32_t kFutile = 4;
  const bool again = std::exchange(self->has_polled, true) && self->polled == address;
  self->futile = !changes ? 0 : again ? self->futile + 1 : 1;
  if (again) {
    // Compare-and-swap loops begin with a load.
    if ((!changes || self->futile > kFutile) && !stays_unready(address)) poll_word(address, bytes);
    return;
  }
  self->polled = address;
  // A loop may wait for one of several places, and store to memory each time.
  constexpr uint32_t kPolls = 64, kPollsWithChanges = 1024;
  if (std::exchange(self->polls_since, g_progress) != g_progress) self->polls = 0;
  if (std::exchange(self->polls_since_event, g_events) != g_events) self->polls_with_changes = 0;
  self->polls++;
  self->polls_with_changes++;
  if (self->polls <= kPolls && self->polls_with_changes <= kPollsWithChanges) return;
  // Read-modify-writes alone, which change memory, are a computation.
  const bool computing =
      self->polls_with_changes > kPollsWithChanges && self->saw == Fiber::kSawNothing;
  self->polls = self->polls_with_changes = 0;
  poll_current(computing);
}

namespace {

int budget() { return g_noting_places ? 1 : kAccessesInTurn; }

// As many as have been made until now, in the sense of accesses_made.
void renew_thread_budget() {
  g_stats.accesses = accesses_made() - static_cast<unsigned>(kAccessesInTurn - budget());
  g_accesses_left = budget();
}

}  // namespace

void renew_budgets() {
  renew_thread_budget();
  g_host_accesses_left = budget();
}

void spend_budget(const void* address) {
  if (g_current->gpu) {
    renew_thread_budget();
  } else {
    g_host_accesses_left = budget();
  }
  if (g_noting_places) {
    static int noted = 0;
    note_place(address);
    if (++noted % kAccessesInTurn) return;
  }
  // A loop over plain reads that waits for a change, or a long computation: both go on later.
  static uint64_t seen = 0, events_seen = 0;
  static int turns = 0;  // in which memory has changed and nothing else happened
  constexpr int kTurns = 64;
  turns = std::exchange(events_seen, g_events) == g_events ? turns + 1 : 0;
  const bool alone = std::exchange(seen, g_progress) == g_progress || turns > kTurns;
  if (alone || g_timed) {
    poll_current(true);
  } else {
    yield_current();
  }
}

}  // namespace warploom

using warploom::on_access;
using warploom::on_guarded;
using warploom::on_range;
using warploom::on_volatile;
using warploom::require_aligned;

#define HOOKS(n)                                                                \
  void __tsan_read##n(void* p) { on_access<n, false, true>(p); }                \
  void __tsan_write##n(void* p) { on_access<n, true, true>(p); }                \
  void __tsan_unaligned_read##n(void* p) { on_access<n, false>(p); }            \
  void __tsan_unaligned_write##n(void* p) { on_access<n, true>(p); }            \
  void __tsan_read_write##n(void* p) {                                          \
    on_access<n, false, true>(p);                                               \
    on_access<n, true>(p);                                                      \
  }                                                                             \
  void __tsan_unaligned_read_write##n(void* p) {                                \
    on_access<n, false>(p);                                                     \
    on_access<n, true>(p);                                                      \
  }                                                                             \
  void __tsan_volatile_read##n(void* p) {                                       \
    require_aligned(p, n, false);                                               \
    on_volatile(p, n, false);                                                   \
  }                                                                             \
  void __tsan_volatile_write##n(void* p) {                                      \
    require_aligned(p, n, true);                                                \
    on_volatile(p, n, true);                                                    \
  }                                                                             \
  void __tsan_unaligned_volatile_read##n(void* p) { on_volatile(p, n, false); } \
  void __tsan_unaligned_volatile_write##n(void* p) { on_volatile(p, n, true); }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_vptr_update(void** p, void*) { on_access<8, true, true>(p); }
void __tsan_vptr_read(void** p) { on_access<8, false, true>(p); }
void __tsan_read_range(void* p, std::size_t n) { on_range<false>(p, n, RETURN_ADDRESS); }
void __tsan_write_range(void* p, std::size_t n) { on_range<true>(p, n, RETURN_ADDRESS); }
void* __tsan_memcpy(void* d, const void* s, std::size_t n) {
  on_range<false>(s, n, RETURN_ADDRESS);
  on_range<true>(d, n, RETURN_ADDRESS);
  return std::memcpy(d, s, n);
}
void* __tsan_memmove(void* d, const void* s, std::size_t n) {
  on_range<false>(s, n, RETURN_ADDRESS);
  on_range<true>(d, n, RETURN_ADDRESS);
  return std::memmove(d, s, n);
}
void* __tsan_memset(void* d, int v, std::size_t n) {
  on_range<true>(d, n, RETURN_ADDRESS);
  return std::memset(d, v, n);
}
void warploom_guarded_access(const void* p, std::size_t n, unsigned kind,
                             const void* return_address) {
  if (n == 0) return;
  if (kind & 1) on_guarded<false>(p, n, return_address);
  if (kind & 2) on_guarded<true>(p, n, return_address);
}
}
