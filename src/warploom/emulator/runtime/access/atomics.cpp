// Fences and atomics: how release and acquire carry order, as in the C++ memory model, with scopes.
#include <unordered_map>
#include <utility>

#include "access/fast_path.h"
#include "access/quick_atomic.h"
#include "access/volatile_lanes.h"
#include "base/polling.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/results.h"
#include "behavior/spoil.h"
#include "behavior/versions.h"
#include "kernels/async_lane.h"
#include "kernels/kernel.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "order/equal_stores.h"
#include "order/host_suspects.h"
#include "order/race.h"
#include "order/stale.h"
#include "report/report.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom {

namespace {

std::unordered_map<uintptr_t, Published> g_published;

const Published* published_at(uintptr_t address) {
  if (g_published.empty()) return nullptr;
  const auto it = g_published.find(address);
  return it == g_published.end() ? nullptr : &it->second;
}

// Not by its address: a later block may lie where one has ended.
uint64_t block_mark(const Block* block) {
  return block ? uint64_t{block->op} << 32 | block->number : 0;
}

// Does the publication reach the running fiber?
bool reaches(const Published& published, Scope reader_scope) {
  const GpuThread* thread = current_thread();
  const Block* block = thread ? thread->block : nullptr;
  const Scope scope = std::min(published.scope, reader_scope);
  if (block_mark(block) == published.block) return true;
  if (scope == Scope::Block) return false;
  const int device = block ? block->kernel->device : -1;
  return scope == Scope::System || device == published.device;
}

// How far a fence of the running GPU thread has to reach to take the publication over.
Scope distance_to(const Published& published) {
  const Block& block = *current_thread()->block;
  if (block_mark(&block) == published.block && !published.of_blocks) return Scope::Block;
  return block.kernel->device == published.device ? Scope::Device : Scope::System;
}

// A fence reaches so far: what was seen of threads nearer than that is ordered before what follows.
void acquire_pending(GpuThread& thread, Scope reach) {
  for (const Scope distance : {Scope::Block, Scope::Device, Scope::System}) {
    Clock& seen = thread.pending[static_cast<int>(distance)];
    if (seen.empty()) continue;
    if (distance > reach) {
      thread.block->saw_narrow_scope = true;
      continue;
    }
    acquire_clock(seen);
    seen = {};
  }
}

double fence_ns(Scope scope) {
  return scope == Scope::System ? g_machine.system_fence_ns : g_machine.fence_ns;
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
  if (acquires(order)) {
    acquire_clock(published.clock);
    return;
  }
  if (!thread) {
    current_host().pending.join(published.clock);
    return;
  }
  const Scope distance = distance_to(published);
  if (arrives && thread->fence_scope >= distance) {
    acquire_clock(published.clock);
    return;
  }
  thread->block->has_pending = true;
  thread->pending[static_cast<int>(distance)].join(published.clock);
}

void publish(Published& published, const Clock& clock, Scope scope, bool keep) {
  const GpuThread* thread = current_thread();
  const Block* block = thread ? thread->block : nullptr;
  const OpId op = block ? block->op : 0;
  const bool same_kernel = keep && block && !published.clock.empty() && published.op == op;
  published.of_blocks =
      same_kernel && (published.of_blocks || published.block != block_mark(block));
  if (!keep) published.clock = {};
  published.clock.join(clock);
  published.scope = scope;
  published.op = op;
  published.block = block_mark(block);
  published.device = thread ? thread->block->kernel->device : -1;
}

struct Fenced {
  Clock clock{};
  Scope scope = Scope::System;
};

// What a relaxed write of this thread publishes, which has fenced or whose block has: its own
// fence, and those of the block's other threads before the last barrier unless its own came after
// that.
Fenced fenced_by(const GpuThread& thread) {
  const Block& block = *thread.block;
  Fenced fenced;
  if (thread.fenced) fenced = {thread.fence_release, thread.fence_scope};
  const bool own_is_newer = thread.fenced && thread.fence_interval == block.base;
  if (block.fenced && !own_is_newer) {
    fenced.clock.join(block.fence_release);
    fenced.scope = std::min(fenced.scope, block.fence_scope);
  }
  if (!thread.init_release.empty()) {
    if (!thread.fenced && !block.fenced) fenced.scope = Scope::Device;
    fenced.clock.join(thread.init_release);
  }
  return fenced;
}

void synchronize_through(uintptr_t address, bool reads, bool writes, Order order, Scope scope) {
  GpuThread* thread = current_thread();
  if (reads) {
    const bool arrives = thread && writes && counts_arrivals(*thread, address);
    const Published* published = published_at(address);
    if (published) observe(*published, order, scope, arrives);
  }
  if (!writes) return;
  if (releases(order)) {
    publish(g_published[address], release_clock(), scope, reads);
  } else if (!thread && current_host().fenced) {
    publish(g_published[address], current_host().fence_release, scope, reads);
  } else if (thread && (thread->fenced || thread->block->fenced || !thread->init_release.empty())) {
    const Fenced fenced = fenced_by(*thread);
    publish(g_published[address], fenced.clock, std::min(scope, fenced.scope), reads);
  } else if (!reads && !g_published.empty()) {
    // A plain relaxed store ends the release sequence; a read-modify-write continues it.
    g_published.erase(address);
  }
}

// Turns that the running fiber lets pass before an atomic at `place` of the program. The host comes
// back to its turn soon, and a kernel takes many to get somewhere. A GPU thread may stay behind for
// long, so that whole blocks overtake it: often where few atomics are made, and ever more seldom
// where there are millions.
uint64_t turns_to_pass(bool on_gpu, uint32_t place) {
  if (!on_gpu) return random_below(4) ? 0 : 1 + random_below(32);
  constexpr unsigned kPlaces = 256, kOften = 6, kLongest = 12;
  static uint64_t so_far[kPlaces] = {};
  if (random_below(++so_far[place * 0x9E3779B1u >> 24]) < kOften) {
    return uint64_t{1} << random_below(kLongest + 1);
  }
  return random_below(8) == 0;
}

// Between an atomic and what follows, or a store and the flag behind it, others may run in a random
// schedule: what goes wrong then is no data race where all of it is atomic or volatile.
void let_others_come(const void* return_address) {
  GpuThread* thread = current_thread();
  const uint64_t turns = turns_to_pass(thread, program_offset(return_address));
  for (auto left = turns; left > 0; left--) {
    if (thread) thread->block->gives_way = true;
    yield_current();
  }
}

void fence_host(Order order) {
  if (!g_current) return;
  HostThread& host = current_host();
  if (acquires(order) && !host.pending.empty()) acquire_clock(std::exchange(host.pending, {}));
  if (!releases(order)) return;
  host.fence_release = release_clock();
  host.fenced = true;
}

}  // namespace

void fence(Order order, Scope scope) {
  GpuThread* thread = current_thread();
  if (g_timed && thread && scope != Scope::Block) {
    advance(fence_ns(scope));
  }
  if (!g_config.race) return;
  if (!thread) return fence_host(order);
  if (order == Order::SeqCst && g_config.stale) note_strong_fence(scope);
  if (acquires(order)) {
    acquire_pending(*thread, scope);
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

void fence_inits() {
  GpuThread* thread = current_thread();
  if (!thread) return;
  if (g_timed) advance(g_machine.fence_ns);
  if (!g_config.race) return;
  Block& block = *thread->block;
  const auto index = static_cast<uint16_t>(thread->linear);
  Clock inits = block.kernel->before;  // who knows something of a kernel knows what preceded it
  inits.advance_block(block.op, inits_of(block.number), 0, index, block.time++);
  thread->init_release.join(inits);
  block.has_fenced = true;
}

// Enters the access into the history. What it gets instead of the newest value, if anything.
static std::optional<OlderValue> enter_access(const StrongAccess& access, uint32_t pc) {
  const auto start = reinterpret_cast<uintptr_t>(access.address);
  const bool uses_old = access.update != Update::Exchange;  // which can be a mere store
  if (access.reads && uses_old && may_be_fresh(start)) {
    note_fresh_read(access.address, access.bytes, pc);
  }
  if (access.is_volatile && g_current->gpu && in_shared(start)) {
    note_lane_exchange(current_actor(pc), start, access.bytes, access.writes);
  }
  std::optional<OlderValue> older;
  if (g_config.stale) {
    if (access.order == Order::SeqCst) note_strong_fence(access.scope);
    older = note_strong_access(current_actor(pc), access, published_at(start));
  }
  const GpuThread* thread = current_thread();
  if (!thread) g_host_looked = true;
  const Atomicity atomic = access.is_volatile ? Atomicity(access.scope, Extent::Any)
                                              : atomicity(access.scope, access.bytes);
  if (thread && quick_atomic(start, access.bytes, access.writes, atomic, pc)) return older;
  access_atomic(current_actor(pc), access.address, access.bytes, access.writes, atomic);
  if (thread && !in_arena(access.address)) know_variable(start);
  return older;
}

// A release is a fence before the access, an acquire one behind it.
static void price_atomic(const StrongAccess& access, Order order) {
  const bool far = access.scope != Scope::Block;
  if (far && access.writes && releases(order)) advance(fence_ns(access.scope));
  meter_atomic(access.address, access.bytes, access.reads, access.writes);
  if (far && access.reads && acquires(order)) meter_acquire();
}

static void look_at_strong(const StrongAccess& access, const void* return_address) {
  if (!g_current) return;
  const auto& [address, bytes, reads, writes, stated, scope, is_volatile, update] = access;
  // The host's own processor keeps the order of its volatile accesses.
  const Order order = is_volatile && !g_current->gpu ? Order::AcqRel : stated;
  if (g_stores_pending) settle_stores();
  if (random_schedule()) let_others_come(return_address);
  if (reads) note_poll(address, bytes, writes);
  g_stats.accesses++;
  g_stats.looks += reads;
  GpuThread* thread = current_thread();
  if (thread) {
    if (g_timed) price_atomic(access, order);
    thread->touched_memory = true;
  }
  if (std::exchange(g_current->compares, false) && reads && writes) {
    if (thread && thread->has_suspect) check_suspect(address, bytes, g_current->compared);
    if (!thread) check_host_suspects(address, bytes, g_current->compared);
  }
  const auto start = reinterpret_cast<uintptr_t>(address);
  const unsigned long long peer_bytes = g_stats.peer_bytes;
  const bool known = (thread && plainly_reachable(*g_current, start, bytes)) ||
                     check_access(address, bytes, writes);
  if (reads) g_stats.polled_bytes += g_stats.peer_bytes - peer_bytes;
  if (known && reads && !writes) note_look(address, bytes);
  if (writes && !reads) note_progress();
  if (g_carrying && known) {
    note_carried(address, bytes, reads, true);
    if (writes) note_version_store(address, bytes);
    note_version_strong(address, bytes);
  }
  if (g_spoiling && known) spoil_access(address, bytes, writes, true);
  if (known && reads) note_host_access(address, bytes, false, true);
  if (known && writes) {
    thread ? note_device_stores(address, bytes) : note_host_access(address, bytes, true, true);
  }
  if (!g_config.race) return;
  if (known) {
    const uint32_t place = program_offset(return_address);
    const auto older = enter_access(access, place ? place : program_place());
    if (older) {
      if (older->published) observe(*older->published, order, scope, false);
      put_in_place(address, bytes, *older);
      return;
    }
  }
  synchronize_through(start, reads, writes, order, scope);
}

LookedAt g_looked_at;

void strong_access(const StrongAccess& access, const void* return_address) {
  look_at_strong(access, return_address);
  g_looked_at = {g_current, access.address, access.bytes, access.reads, access.writes};
}

void atomic_access(const void* address, unsigned bytes, bool reads, bool writes, Order order,
                   Scope scope, Update update) {
  strong_access({address, bytes, reads, writes, order, scope, false, update},
                __builtin_return_address(0));
}

void atomic_compares(uint64_t low, uint64_t high) {
  if (!g_current) return;
  g_current->compares = true;
  g_current->compared[0] = low;
  g_current->compared[1] = high;
}

void atomic_load_access(const void* address, unsigned bytes, Order order, Scope scope) {
  strong_access({address, bytes, true, false, order, scope}, __builtin_return_address(0));
}

void atomic_changed() {
  note_progress();
  if (g_config.stale) note_change();
  if (g_current && std::exchange(g_current->futile, 0)) g_current->has_polled = false;
}

void atomic_taken() { atomic_changed(); }

void result_unused() {
  if (g_current && g_config.stale) note_unused();
}

}  // namespace warploom
