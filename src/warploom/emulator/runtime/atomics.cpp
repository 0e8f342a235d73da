// Fences and atomics: how release and acquire carry order, as in the C++ memory model, with scopes.
#include <unordered_map>
#include <utility>

#include "equal_stores.h"
#include "fresh.h"
#include "kernel.h"
#include "memory.h"
#include "polling.h"
#include "race.h"
#include "report.h"
#include "scheduler.h"
#include "stale.h"
#include "stats.h"
#include "timing.h"

namespace warploom {

namespace {

std::unordered_map<uintptr_t, Published> g_published;

const Published* published_at(const void* address) {
  const auto it = g_published.find(reinterpret_cast<uintptr_t>(address));
  return it == g_published.end() ? nullptr : &it->second;
}

// Does the publication reach the running fiber?
bool reaches(const Published& published, Scope reader_scope) {
  const GpuThread* thread = current_thread();
  const Block* block = thread ? thread->block : nullptr;
  const Scope scope = std::min(published.scope, reader_scope);
  if (block == published.block) return true;
  if (scope == Scope::Block) return false;
  const int device = block ? block->kernel->device : -1;
  return scope == Scope::System || device == published.device;
}

bool acquires(Order order) { return order != Order::Relaxed && order != Order::Release; }
bool releases(Order order) { return order != Order::Relaxed && order != Order::Acquire; }

// The guide's own example of __threadfence() counts blocks with a relaxed atomic right after the
// fence, and lets the last block read what the others wrote with no fence behind the atomic, which
// the memory model would want. That is an arrival: the first read-modify-write of an address after
// the fence. One that comes again polls, or takes the lock that the first one gave back.
bool counts_arrivals(GpuThread& thread, uintptr_t address) {
  if (!thread.fenced || thread.fence_scope == Scope::Block) return false;
  return std::exchange(thread.counted_at, address) != address;
}

void observe(const Published& published, Order order, Scope scope, bool arrives) {
  GpuThread* thread = current_thread();
  if (!reaches(published, scope)) {
    (thread ? thread->block->saw_narrow_scope : current_host().saw_narrow_scope) = true;
    return;
  }
  if (acquires(order) || !thread || arrives) {
    acquire_clock(published.clock);
  } else {
    thread->block->has_pending = true;
    thread->pending.join(published.clock);
  }
}

void publish(Published& published, const Clock& clock, Scope scope, bool keep) {
  const GpuThread* thread = current_thread();
  if (!keep) published.clock = {};
  published.clock.join(clock);
  published.scope = scope;
  published.block = thread ? thread->block : nullptr;
  published.device = thread ? thread->block->kernel->device : -1;
}

struct Fenced {
  bool any = false;
  Clock clock{};
  Scope scope = Scope::System;
};

// What a relaxed write of this thread publishes: its own fence, and those of the block's other
// threads before the last barrier unless its own came after that.
Fenced fenced_by(const GpuThread& thread) {
  const Block& block = *thread.block;
  Fenced fenced;
  if (thread.fenced) fenced = {true, thread.fence_release, thread.fence_scope};
  const bool own_is_newer = thread.fenced && thread.fence_interval == block.base;
  if (block.fenced && !own_is_newer) {
    fenced.clock.join(block.fence_release);
    fenced.scope = std::min(fenced.scope, block.fence_scope);
    fenced.any = true;
  }
  return fenced;
}

void synchronize_through(uintptr_t address, bool reads, bool writes, Order order, Scope scope) {
  GpuThread* thread = current_thread();
  if (reads) {
    auto it = g_published.find(address);
    const bool arrives = thread && writes && counts_arrivals(*thread, address);
    if (it != g_published.end()) observe(it->second, order, scope, arrives);
  }
  if (!writes) return;
  if (releases(order) || !thread) {
    publish(g_published[address], release_clock(), scope, reads);
  } else if (const Fenced fenced = fenced_by(*thread); fenced.any) {
    publish(g_published[address], fenced.clock, std::min(scope, fenced.scope), reads);
  } else if (!reads) {
    // A plain relaxed store ends the release sequence; a read-modify-write continues it.
    auto it = g_published.find(address);
    if (it != g_published.end()) g_published.erase(it);
  }
}

// Between an atomic and what follows, or a store and the flag behind it, others may run: what goes
// wrong then is no data race where all of it is atomic or volatile. The host comes back to its turn
// soon, and a kernel takes many to get somewhere.
void let_others_come() {
  GpuThread* thread = current_thread();
  if (!random_schedule() || random_below(thread ? 8 : 4) != 0) return;
  if (thread) thread->block->gives_way = true;
  for (auto turns = thread ? 1 : 1 + random_below(32); turns > 0; turns--) yield_current();
}

}  // namespace

void fence(Order order, Scope scope) {
  GpuThread* thread = current_thread();
  if (g_timed && thread && scope != Scope::Block) {
    advance(scope == Scope::System ? g_machine.system_fence_ns : g_machine.fence_ns);
  }
  if (!thread || !g_config.race) return;
  if (order == Order::SeqCst && g_config.stale) note_strong_fence(scope);
  if (acquires(order)) {
    acquire_clock(thread->pending);
    thread->pending = {};
  }
  if (releases(order)) {
    thread->fence_release = release_clock();
    thread->fence_scope = scope;
    thread->counted_at = 0;
    if (!thread->fenced || thread->fence_interval != thread->block->base) {
      thread->block->with_fence.push_back(thread);
    }
    thread->fence_interval = thread->block->base;
    thread->fenced = thread->block->has_fenced = true;
    if (scope == Scope::System) thread->stored_to = -1;
  }
}

void atomic_access(const void* address, unsigned bytes, bool reads, bool writes, Order order,
                   Scope scope, bool uses_old) {
  if (!g_current) return;
  if (g_stores_pending) settle_stores();
  let_others_come();
  if (reads) note_poll(address, bytes);
  g_stats.accesses++;
  if (GpuThread* thread = current_thread()) {
    if (g_timed) meter_atomic(address, bytes, reads, writes);
    thread->touched_memory = true;
    if (reads && writes) settle_suspect(address);
  }
  const bool known = check_access(address, bytes, writes);
  if (known && reads && !writes) note_look(address, bytes);
  if (writes && !reads) note_progress();
  if (!g_config.race) return;
  if (known) {
    const uint32_t pc = program_place();
    if (reads && uses_old && may_be_fresh(reinterpret_cast<uintptr_t>(address))) {
      note_fresh_read(address, bytes, pc);
    }
    const Actor actor = current_actor(pc);
    const StrongAccess access{address, bytes, reads, writes, order, scope};
    std::optional<OlderValue> older;
    if (g_config.stale) older = note_strong_access(actor, access, published_at(address));
    access_atomic(actor, address, bytes, writes);
    if (older) {
      if (older->published) observe(*older->published, order, scope, false);
      put_in_place(address, bytes, *older);
      return;
    }
  }
  synchronize_through(reinterpret_cast<uintptr_t>(address), reads, writes, order, scope);
}

void atomic_load_access(const void* address, unsigned bytes, Order order, Scope scope) {
  atomic_access(address, bytes, true, false, order, scope);
}

void atomic_changed() { note_progress(); }

}  // namespace warploom
