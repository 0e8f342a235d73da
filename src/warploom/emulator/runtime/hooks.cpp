// The access hooks that -fsanitize=thread compiles into the program, with our own meaning.
#include <cstring>

#include "host_copies.h"
#include "kernel.h"
#include "memory.h"
#include "polling.h"
#include "race.h"
#include "report.h"
#include "stats.h"
#include "timing.h"
#include "variables.h"

namespace warploom {

namespace {

constexpr uint32_t kBudget = 1 << 16;  // accesses between two turns

// Accesses outside of the emulated memory: a thread's own stack, the program's globals, the heap.
void unshadowed_access(const void* p, std::size_t bytes, bool write) {
  const GpuThread* thread = g_current->gpu;
  if (!thread) {
    if (host_copies_pending()) check_host_copies(p, bytes, write);
    return;
  }
  if (in_gpu_stack(p)) return;
  check_access(p, bytes, write);
}

// Is it an access of a GPU thread to live memory of its own device, or of its own block? False: it
// needs a closer look.
inline bool plainly_allowed(const Fiber& self, uintptr_t start, uintptr_t end) {
  const KnownPage& known = known_page(start);
  if (known.page == start >> 12 && known.device == self.device) {
    return start >= known.start && end <= known.end;
  }
  const Block* block = self.block;
  return block && start >= block->hit_start && end <= block->hit_end;
}

void on_other_access(const void* p, std::size_t bytes, bool write, const void* return_address) {
  if (!in_arena(p) && !find_variable(p)) {
    unshadowed_access(p, bytes, write);
    return;
  }
  g_stats.accesses++;
  if (write) note_progress();
  if (GpuThread* thread = g_current->gpu) {
    thread->touched_memory = true;
    if (g_timed) meter_access(p, bytes, write);
  }
  if (!check_access(p, bytes, write) || !g_config.race) return;
  const Actor actor = current_actor(program_offset(return_address));
  if (write) {
    access_write(actor, p, bytes);
  } else {
    access_read(actor, p, bytes);
  }
}

inline void on_access(const void* p, std::size_t bytes, bool write, const void* return_address) {
  Fiber* self = g_current;
  if (!self) return;
  if (++self->budget >= kBudget) spend_budget();
  const auto start = reinterpret_cast<uintptr_t>(p);
  if (!plainly_allowed(*self, start, start + bytes)) {
    on_other_access(p, bytes, write, return_address);
    return;
  }
  g_stats.accesses++;
  if (write) note_progress();
  self->gpu->touched_memory = true;
  if (g_timed) meter_access(p, bytes, write);
  if (!g_config.race) return;
  const uint32_t pc = program_offset(return_address);
  if (bytes <= kWidestAccess) {
    access_by_thread(*self->gpu, start, static_cast<unsigned>(bytes), write, pc);
  } else if (write) {
    access_write(current_actor(pc), p, bytes);
  } else {
    access_read(current_actor(pc), p, bytes);
  }
}

// The compiler calls the aligned hooks where the type promises the alignment: a GPU traps there.
[[gnu::noinline, gnu::cold]] void report_misaligned(const void* p, unsigned bytes, bool write) {
  if (!g_current || !g_current->gpu || !in_arena(p)) return;
  report_finding({.kind = "misaligned",
                  .message = format("%s of %u bytes at an address that is no multiple of %u",
                                    write ? "write" : "read", bytes, bytes),
                  .hint = "a GPU traps there: round the offset, or use narrower elements"});
}

inline void require_aligned(const void* p, unsigned bytes, bool write) {
  if (reinterpret_cast<uintptr_t>(p) & (bytes - 1)) [[unlikely]] {
    report_misaligned(p, bytes, write);
  }
}

// Volatile accesses are relaxed and of system scope, as CUDA documents them.
inline void on_volatile(const void* p, unsigned bytes, bool write) {
  if (!in_arena(p) && !(g_current && find_variable(p))) return;
  atomic_access(p, bytes, !write, write, Order::Relaxed, Scope::System);
}

}  // namespace

void note_poll(const void* address) {
  Fiber* self = g_current;
  if (self->polled == address) {
    poll_current();
  } else {
    self->polled = address;
  }
}

void spend_budget() {
  Fiber* self = g_current;
  self->budget = 0;
  // A loop over plain reads that waits for a change, or a long computation: both go on later.
  static uint64_t seen = 0;
  if (g_progress == seen) {
    poll_current(true);
  } else {
    seen = g_progress;
    yield_current();
  }
}

}  // namespace warploom

using warploom::on_access;
using warploom::on_volatile;
using warploom::require_aligned;

#define RETURN_ADDRESS __builtin_return_address(0)
#define HOOKS(n)                                                                     \
  void __tsan_read##n(void* p) {                                                     \
    require_aligned(p, n, false);                                                    \
    on_access(p, n, false, RETURN_ADDRESS);                                          \
  }                                                                                  \
  void __tsan_write##n(void* p) {                                                    \
    require_aligned(p, n, true);                                                     \
    on_access(p, n, true, RETURN_ADDRESS);                                           \
  }                                                                                  \
  void __tsan_unaligned_read##n(void* p) { on_access(p, n, false, RETURN_ADDRESS); } \
  void __tsan_unaligned_write##n(void* p) { on_access(p, n, true, RETURN_ADDRESS); } \
  void __tsan_read_write##n(void* p) {                                               \
    require_aligned(p, n, true);                                                     \
    on_access(p, n, false, RETURN_ADDRESS);                                          \
    on_access(p, n, true, RETURN_ADDRESS);                                           \
  }                                                                                  \
  void __tsan_unaligned_read_write##n(void* p) {                                     \
    on_access(p, n, false, RETURN_ADDRESS);                                          \
    on_access(p, n, true, RETURN_ADDRESS);                                           \
  }                                                                                  \
  void __tsan_volatile_read##n(void* p) {                                            \
    require_aligned(p, n, false);                                                    \
    on_volatile(p, n, false);                                                        \
  }                                                                                  \
  void __tsan_volatile_write##n(void* p) {                                           \
    require_aligned(p, n, true);                                                     \
    on_volatile(p, n, true);                                                         \
  }                                                                                  \
  void __tsan_unaligned_volatile_read##n(void* p) { on_volatile(p, n, false); }      \
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
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, std::size_t n) { on_access(p, n, false, RETURN_ADDRESS); }
void __tsan_write_range(void* p, std::size_t n) { on_access(p, n, true, RETURN_ADDRESS); }
void* __tsan_memcpy(void* d, const void* s, std::size_t n) {
  on_access(s, n, false, RETURN_ADDRESS);
  on_access(d, n, true, RETURN_ADDRESS);
  return std::memcpy(d, s, n);
}
void* __tsan_memmove(void* d, const void* s, std::size_t n) {
  on_access(s, n, false, RETURN_ADDRESS);
  on_access(d, n, true, RETURN_ADDRESS);
  return std::memmove(d, s, n);
}
void* __tsan_memset(void* d, int v, std::size_t n) {
  on_access(d, n, true, RETURN_ADDRESS);
  return std::memset(d, v, n);
}
}
