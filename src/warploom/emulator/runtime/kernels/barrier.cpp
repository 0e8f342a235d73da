// Block barriers: __syncthreads and its voting forms, and named barriers.
#include "kernels/kernel.h"
#include "order/equal_stores.h"
#include "report/report.h"
#include "timing/timing.h"

#include <algorithm>

namespace warploom {

namespace {

void report_divergence(const Block& block, const BarrierState& barrier, const char* how) {
  report_finding({.kind = kinds::divergent_barrier,
                  .message = format("threads of block (%u,%u,%u) of kernel %s %s", block.index.x,
                                    block.index.y, block.index.z, block.kernel->name, how),
                  .hint = "every thread of the block must call the same barrier: move it out of "
                          "the branch",
                  .where = barrier.where,
                  .other = barrier.other,
                  .rank = block.kernel->rank,
                  .kernel = block.kernel->name});
}

// A thread that did some work and ended without the barrier skipped it. One that returned at
// once, as a bounds guard does, is counted out of the barrier by the hardware.
bool somebody_skipped(const Block& block, uint32_t reached) {
  for (const GpuThread& thread : block.threads) {
    if (thread.finished && thread.touched_memory && thread.barriers_reached < reached) return true;
  }
  return false;
}

// From here on the barriers of the block are out of step, so the run ends.
[[noreturn]] void report_partial_group(const Block& block, const BarrierState& barrier) {
  report_finding(
      {.kind = kinds::partial_coop,
       .message = format("a part of block (%u,%u,%u) of kernel %s calls an NCCL "
                         "operation of the whole block, the others are elsewhere",
                         block.index.x, block.index.y, block.index.z, block.kernel->name),
       .hint = "all threads of the block make the call; pass ncclCoopThread() where one "
               "thread makes it",
       .where = barrier.group_where,
       .other = barrier.other,
       .rank = block.kernel->rank,
       .kernel = block.kernel->name});
  stop_run();
}

void trace_opening(const Block& block, const BarrierState& barrier) {
  if (barrier.in_group_call > 0) return;  // the NCCL operation has an event of its own
  const bool whole = &barrier == &block.barrier;
  record_event_at(barrier.where,
                  format("%s: all %u threads are here", whole ? "__syncthreads" : "a named barrier",
                         barrier.arrived));
}

[[gnu::noinline]] void open_barrier(Block& block, BarrierState& barrier) {
  if (g_tracing) trace_opening(block, barrier);
  if (barrier.sites_differ && barrier.in_group_call > 0) report_partial_group(block, barrier);
  if (barrier.sites_differ) {
    report_divergence(block, barrier, "meet at different calls of __syncthreads");
  }
  barrier.result_count = barrier.count;
  barrier.result_all = barrier.all;
  barrier.result_any = barrier.any;
  barrier.arrived = barrier.in_group_call = 0;
  barrier.count = barrier.any = 0;
  barrier.all = 1;
  barrier.sites_differ = false;
  if (barrier.waiting.size() + 1 < block.live) {
    std::vector<GpuThread*> threads{current_thread()};
    for (const Fiber* fiber : barrier.waiting) threads.push_back(fiber->gpu);
    share_fences(block);
    order_part(block, threads);
  } else {
    order_block(block);
  }
  if (g_timed && &barrier == &block.barrier) {
    meet_block(block, barrier.waiting);
  } else if (g_timed) {
    meet_threads(barrier.waiting,
                 block_barrier_ns(static_cast<unsigned>(barrier.waiting.size() + 1)));
  }
  note_progress();
  wake_block(block, barrier.waiting);
}

std::string progress_of(const BarrierState& barrier) {
  return format("%u of %u threads have arrived", barrier.arrived, barrier.expected);
}

// Frames lie on the stack of whoever captures them: not on that of a thread that waits.
[[gnu::noinline]] void capture_into(Frames& frames) { frames = capture_frames(); }

[[gnu::noinline]] void arrive_first(BarrierState& barrier, unsigned expected, int site,
                                    const char* what) {
  barrier.waiting.reserve(expected);
  barrier.site = site;
  capture_into(barrier.where);
  barrier.reason.what = what;
  if (!barrier.reason.detail) barrier.reason.detail = [&barrier] { return progress_of(barrier); };
}

// Warps may come to a named barrier from different places, the threads of one may not.
bool meets_elsewhere(const Block& block, const BarrierState& barrier, const GpuThread& self,
                     int site) {
  if (&barrier == &block.barrier) return barrier.site != site;
  return std::ranges::any_of(barrier.waiting, [&](const Fiber* fiber) {
    return fiber->gpu->linear / 32 == self.linear / 32 && fiber->gpu->barrier_site != site;
  });
}

// Did the barrier open? False: the running fiber waits at it.
inline bool arrive(GpuThread& self, BarrierState& barrier, unsigned expected, int site,
                   const char* what) {
  Block& block = *self.block;
  self.barriers_reached++;
  self.barrier_site = site;
  if (barrier.arrived == 0) {
    arrive_first(barrier, std::min(expected, block.live), site, what);
  } else if (meets_elsewhere(block, barrier, self, site)) {
    barrier.sites_differ = true;
    capture_into(barrier.other);
  }
  barrier.expected = expected;
  barrier.arrived++;
  if (self.group_call && barrier.in_group_call++ == 0) capture_into(barrier.group_where);
  if (barrier.arrived < expected) {
    barrier.waiting.push_back(self.fiber);
    return false;
  }
  if (&barrier == &block.barrier && expected < block.threads.size() && barrier.in_group_call == 0 &&
      somebody_skipped(block, self.barriers_reached)) {
    report_divergence(block, barrier, "ended without a barrier that others wait at");
  }
  open_barrier(block, barrier);
  return true;
}

inline GpuThread& thread_or_stop() {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("__syncthreads", "it was called outside of a kernel");
  return *thread;
}

}  // namespace

// Both are called from assembly (fiber.cpp), by the running fiber, whose context is saved: what to
// load instead? Most threads come to a call where others wait already, and there is one that goes
// on meanwhile. nullptr: it is not as simple.
extern "C" Context* warploom_barrier_quickly(int site) {
  Fiber* self = g_current;
  if (!self->gpu) return nullptr;
  Block& block = *self->block;
  BarrierState& barrier = block.barrier;
  if (barrier.arrived == 0 || barrier.arrived + 1 >= block.live || barrier.site != site ||
      self->gpu->group_call || g_stores_pending ||
      barrier.waiting.size() == barrier.waiting.capacity()) {
    return nullptr;
  }
  barrier.waiting.push_back(self);
  Fiber* next = block.next_at_once();
  if (!next) {
    barrier.waiting.pop_back();
    return nullptr;
  }
  barrier.arrived++;
  self->gpu->barriers_reached++;
  self->state = FiberState::AtBarrier;
  hand_over(next);
  return next;
}

extern "C" Context* warploom_barrier_slowly(int site) {
  GpuThread& self = thread_or_stop();
  Block& block = *self.block;
  if (g_stores_pending) settle_stores();
  if (arrive(self, block.barrier, block.live, site, "__syncthreads")) return self.fiber;
  self.fiber->state = FiberState::AtBarrier;
  return block.pass_on();
}

int voting_barrier(BarrierVote vote, int predicate, int site) {
  BarrierState& barrier = thread_or_stop().block->barrier;
  barrier.count += predicate != 0;
  barrier.all &= predicate != 0;
  barrier.any |= predicate != 0;
  block_barrier(site);
  switch (vote) {
    case BarrierVote::Count:
      return barrier.result_count;
    case BarrierVote::And:
      return barrier.result_all;
    default:
      return barrier.result_any;
  }
}

namespace {

constexpr unsigned kMostBarriers = 16;  // of a block (PTX ISA, bar)

void refuse_barrier(const std::string& message, const char* hint) {
  report_finding({.kind = kinds::divergent_barrier, .message = message, .hint = hint});
  stop_run();
}

void check_number(const GpuThread& self, unsigned id, unsigned threads) {
  if (id >= kMostBarriers || threads % 32 != 0) {
    refuse_barrier(format("barrier %u of %u threads: there are barriers 0 to %u, of whole warps",
                          id, threads, kMostBarriers - 1),
                   "the number of threads is a multiple of 32");
  }
  if (id == 0 && threads && threads < self.block->live) {
    refuse_barrier(format("a part of the block (%u threads) takes barrier 0, which is that of "
                          "__syncthreads: others that get there are counted in",
                          threads),
                   "give it a number from 1 on");
  }
}

}  // namespace

void named_barrier(unsigned id, unsigned threads, int site) {
  GpuThread& self = thread_or_stop();
  BarrierState& barrier = self.block->named_barriers[id];
  if (!arrive(self, barrier, threads ? threads : self.block->live, site, "a named barrier")) {
    block_current(barrier.reason);
  }
}

namespace {

// The barrier counts warps: all threads of one that have not ended must come.
bool comes_in_whole_warps(const Block& block, const BarrierState& barrier, const GpuThread& last) {
  std::vector<unsigned> missing((block.threads.size() + 31) / 32);
  std::vector<bool> comes(missing.size());
  for (const GpuThread& thread : block.threads) missing[thread.linear / 32] += !thread.finished;
  const auto count = [&](const GpuThread& thread) {
    missing[thread.linear / 32]--;
    comes[thread.linear / 32] = true;
  };
  count(last);
  for (const Fiber* fiber : barrier.waiting) count(*fiber->gpu);
  for (std::size_t warp = 0; warp < missing.size(); warp++) {
    if (comes[warp] && missing[warp]) return false;
  }
  return true;
}

}  // namespace

void numbered_barrier(unsigned id, unsigned threads, int site) {
  check_number(thread_or_stop(), id, threads);
  named_barrier(id, threads, site);
}

void aligned_barrier(unsigned id, unsigned threads, int site) {
  GpuThread& self = thread_or_stop();
  check_number(self, id, threads);
  const BarrierState& barrier = self.block->named_barriers[id];
  const unsigned expected = threads ? threads : self.block->live;
  if (barrier.arrived + 1 == expected && !comes_in_whole_warps(*self.block, barrier, self)) {
    refuse_barrier(
        format("bar.sync %u, %u: a part of a warp is here, the rest is elsewhere", id, threads),
        "all threads of a warp execute bar.sync; barrier.sync takes them one by one");
  }
  named_barrier(id, threads, site);
}

void* part_memory(unsigned part, std::size_t bytes) {
  // Device code reaches it, as it does kernel arguments.
  Block::PartMemory& memory = thread_or_stop().block->part_memory[part];
  if (memory.bytes < bytes) memory = Block::PartMemory(bytes);
  return memory.start.get();
}

void barrier_after_exit(Block& block) {
  BarrierState& barrier = block.barrier;
  barrier.expected = block.live;
  if (barrier.arrived == 0 || barrier.arrived < block.live) return;
  const GpuThread* waiting = barrier.waiting.front()->gpu;
  if (barrier.in_group_call == 0 && somebody_skipped(block, waiting->barriers_reached)) {
    report_divergence(block, barrier, "ended without a barrier that others wait at");
  }
  open_barrier(block, barrier);
}

}  // namespace warploom
