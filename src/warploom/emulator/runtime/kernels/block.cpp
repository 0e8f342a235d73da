// One block: its threads run one after another on a fiber; one that blocks keeps its fiber.
#include <algorithm>

#include "base/stats.h"
#include "kernels/async_copy.h"
#include "kernels/bulk_copy.h"
#include "kernels/cluster.h"
#include "kernels/kernel.h"
#include "kernels/shared_memory.h"
#include "machine/into_program.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/equal_stores.h"
#include "order/history.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

const Here kNowhere{{{0, 0, 0}, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
Here g_here = kNowhere;
Turn g_turn;

namespace {

// At random, threads start in a seeded rotation: neighbors then meet in other orders.
unsigned thread_at(const Block& block, unsigned position) {
  const auto count = static_cast<unsigned>(block.threads.size());
  return (position + static_cast<unsigned>(g_config.seed) * 37 + block.number * 11) % count;
}

}  // namespace

Block::~Block() {
  if (slot >= 0) release_shared_slot(*this);
}

// The threads come from a block of the kernel that has ended, where there is one: they are in their
// places, and all else that it could have left in them is set here (see Kernel::block_finished).
void Block::make_threads() {
  threads = std::move(kernel->spare_threads);
  if (threads.empty()) {
    threads.resize(live);
    place_threads();
  }
  for (GpuThread& thread : threads) {
    thread.finished = thread.touched_memory = thread.has_suspect = thread.has_own_clock = false;
    thread.barriers_reached = 0;
    thread.cluster_arrival = 0;
    thread.block = this;
    thread.stored_to = -1;
  }
  g_stats.threads += live;
}

void Block::place_threads() {
  const dim3 shape = kernel->config.block;
  uint3 place{0, 0, 0};
  unsigned linear = 0;
  for (GpuThread& thread : threads) {
    thread._Windex = place;
    thread.linear = linear++;
    if (++place.x < shape.x) continue;
    place.x = 0;
    if (++place.y < shape.y) continue;
    place.y = 0;
    place.z++;
  }
}

[[gnu::noinline, gnu::cold]] void Block::before_exit(GpuThread& thread) {
  if (thread.has_suspect) settle_suspect();
  if (g_stores_pending) settle_stores();
  if (g_timed) end_thread(*this);
}

[[gnu::noinline]] void Block::after_exit(GpuThread& thread) {
  if (thread.has_own_clock && live == 0) order_block(*this);
  if (cluster) cluster_after_exit(*this, thread);
  if (live == 0) return;
  if (barrier.arrived) barrier_after_exit(*this);
  if (grid_barrier.arrived) grid_barrier_after_exit(*this);
  if (!warps.empty()) warps_after_exit(*this, thread);
}

inline void Block::finish_thread(GpuThread& thread) {
  if (thread.has_suspect || g_stores_pending || g_timed) before_exit(thread);
  thread.finished = true;
  thread.fiber = nullptr;
  live--;
  note_event();
  if (live == 0 || barrier.arrived || grid_barrier.arrived || cluster || !warps.empty()) {
    after_exit(thread);
  }
}

[[gnu::always_inline]] inline void Block::work(Fiber* self) {
  const bool in_order = !random_schedule();
  const KernelBody body = kernel->body;
  GpuThread* const first = threads.data();
  const auto count = static_cast<unsigned>(threads.size());
  auto accesses = accesses_made();
  Closed closed{.high = reinterpret_cast<uintptr_t>(self->stack) + self->stack_bytes};
  self->closed = &closed;
  const uint64_t words[kArgumentWords] = {as_word(body.closure)};
  while (next_thread < count) {
    const unsigned position = next_thread++;
    GpuThread& thread = first[in_order ? position : thread_at(*this, position)];
    self->gpu = &thread;
    thread.fiber = self;
    self->has_polled = false;
    self->recursed_to = ~uintptr_t{0};
    g_here._Wthread = thread;
    if (g_timed) begin_thread(*this);
    warploom_into(reinterpret_cast<const void*>(body.invoke), words, &closed.low);
    if (accesses_made() != accesses) thread.touched_memory = true;
    accesses = accesses_made();
    finish_thread(thread);
  }
  self->gpu = nullptr;
  self->closed = nullptr;
}

// Where a fiber begins, each time that it gets a block.
void work_for_block() {
  Fiber* self = g_current;
  Block& block = *self->block;
  void* const start = self->stack_pointer;
  block.work(self);
  retire(start, block.next_fiber());
}

bool Block::start_worker() {
  if (next_thread >= threads.size()) return false;
  ready.push_back(create_block_fiber(*this));
  return true;
}

// Gathers those who run next; false: nobody can.
bool Block::begin_turn() {
  if (turn_at < turn.size()) return true;
  if (ready.empty() && !start_worker()) release_gatherings(*this);
  if (ready.empty()) return false;  // in modelled time, who is released may go on later
  turn.swap(ready);
  ready.clear();
  turn_at = 0;
  if (random_schedule() && turn.size() > 1) {
    std::rotate(turn.begin(), turn.begin() + static_cast<long>(random_below(turn.size())),
                turn.end());
  }
  return true;
}

// At random, another block, stream or message may come between: see run.
Fiber* Block::next_to_start() {
  if (next_thread == threads.size() || !ready.empty() || random_schedule()) return nullptr;
  return create_block_fiber(*this);
}

Fiber* Block::next_turn() {
  if (random_schedule()) return nullptr;
  if (Fiber* fiber = next_to_start()) return fiber;
  return begin_turn() ? turn[turn_at++] : nullptr;
}

void Block::run() {
  // While it runs, threads that it wakes need not queue it again: it may end in this very turn.
  queued = true;
  activate_device(kernel->device);
  if (threads.empty()) {
    enter_cluster(*this);
    make_threads();
  }
  g_here = {{}, index, kernel->config.block, kernel->config.grid};
  const Process& process = *kernel->process;
  g_turn = {this, Record::who_is(op, number), process.base, process.end - process.base,
            kernel->of_guest ? uint8_t{0} : owner_mark(kernel->device)};
  const int watched = g_config.race && !g_timed ? kCheckedThreads : kWatchedThreads;
  const int plain = kernel->of_guest ? kWatchedThreads : kernel->device;
  g_plain_device = g_watching ? watched : plain;
  while (begin_turn()) {
    while (Fiber* fiber = next_fiber()) {
      resume(fiber);
    }
    // Another block, stream or message may come between, in any order.
    if (live && random_schedule() && (gives_way || random_below(4) == 0)) break;
  }
  g_here = kNowhere;
  g_plain_device = kNoThread;
  queued = gives_way = false;
  if (live == 0) {
    order_block(*this);
    finish_copies(*this);
    forget_copies(*this);
    if (cluster) leave_cluster(*this);
    kernel->block_finished(this);  // deletes this block
  } else if (!ready.empty() || next_thread < threads.size() || !gatherings.empty()) {
    enqueue(this);
  } else {
    kernel->block_parked();
  }
}

// A thread that fences, meets the others at a barrier, and a flag that one of them stores then: the
// fences are sequentially consistent, so who sees the flag and fences sees what each fence covers.
void share_fences(Block& block) {
  if (block.with_fence.empty()) return;
  block.fenced = true;
  block.fence_release = {};
  block.fence_scope = Scope::System;
  for (const GpuThread* thread : block.with_fence) {
    block.fence_release.join(thread->fence_release);
    block.fence_scope = std::min(block.fence_scope, thread->fence_scope);
  }
  block.with_fence.clear();
}

void order_block(Block& block) {
  share_fences(block);
  block.base = ++block.time;
  if (block.with_own_clock.empty() && block.clock.seen_puts().empty()) return;
  // In place of what single threads of it did and saw.
  std::vector<const Clock*> of_threads;
  for (const GpuThread* thread : block.with_own_clock) of_threads.push_back(&thread->own);
  block.clock.advance_block(block.op, block.number, block.base, 0, 0);
  block.clock.join_all(of_threads, {block.op, block.number, block.base});
  for (GpuThread* thread : block.with_own_clock) {
    thread->own = {};
    thread->has_own_clock = false;
  }
  block.with_own_clock.clear();
  block.clock.forget_puts();
  block.note_clock();
}

void order_part(Block& block, std::span<GpuThread* const> threads) {
  const uint32_t before = block.time++;
  Clock joined = block.clock;
  std::vector<unsigned> present((block.threads.size() + 31) / 32);
  for (const GpuThread* thread : threads) {
    if (thread->has_own_clock) joined.join(thread->own);
    present[thread->linear / 32]++;
  }
  for (const GpuThread* thread : threads) {
    joined.advance_block(block.op, block.number, block.base, thread->linear, before);
  }
  joined.forget_puts();
  for (GpuThread* thread : threads) {
    if (!thread->has_own_clock) block.with_own_clock.push_back(thread);
    thread->has_own_clock = true;
    thread->own = joined;
    if (present[thread->linear / 32] == 32) block.warp_base[thread->linear / 32] = block.time;
  }
}

bool on_device() { return current_thread() != nullptr; }

}  // namespace warploom
