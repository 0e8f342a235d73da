// cp.async and what is made of it. A copy is checked as accesses of the thread that issues it, and
// entered into the history as those of nobody that threads know of (async_lane.h). Once its thread
// has waited for it, it is as if the thread had made these accesses then.
#include "kernels/async_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "access/quick_access.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/results.h"
#include "behavior/spoil.h"
#include "kernels/async_lane.h"
#include "kernels/bulk_copy.h"
#include "kernels/phase_barrier.h"
#include "kernels/shared_memory.h"
#include "machine/world.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/history.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// What a barrier in memory waits for.
struct CopiesAtBarrier {
  Block* block;
  uint16_t thread;
  uint32_t upto;  // the thread's copies with these numbers
  PhaseBarrier* barrier;
  uint32_t starts;
  Frames where;
};

GpuThread& issuing_thread(const char* what) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported(what, "it was called outside of a kernel");
  return *thread;
}

// Null: the running thread has issued none.
ThreadCopies* copies_of_thread() {
  const GpuThread* thread = current_thread();
  if (!thread || !thread->block->copies) return nullptr;
  ThreadCopies& copies = thread->block->copies->threads[thread->linear];
  return copies.issued ? &copies : nullptr;
}

void land_copy(ThreadCopy& copy) {
  if (std::exchange(copy.landed, true)) return;
  if (g_stores_pending) settle_stores();
  std::memcpy(copy.to, copy.data, copy.bytes);
  note_progress();
}

// --- the history --------------------------------------------------------------------------------

// Where the history of this memory lies; 0: it has none.
uintptr_t history_of(const void* p) {
  return in_arena(p) ? reinterpret_cast<uintptr_t>(p) : shadow_of(p);
}

template <bool write>
void enter_copy(const Actor& actor, const void* p, unsigned bytes) {
  const uintptr_t start = history_of(p);
  if (!start || bytes == 0) return;
  const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - start, end = start + bytes;
  const SlowViewer viewer;
  for (uintptr_t word = start & ~uintptr_t{3}; word < end; word += 4) {
    const unsigned mask = bytes_in_word(word, start, end);
    const Record record = make_record(actor, mask, {});
    Granule& granule = granule_of(word);
    const std::size_t cell = word % kGranule / 4;
    if (write ? quick_write(granule, cell, viewer, record)
              : quick_read(granule, cell, viewer, record)) {
      continue;
    }
    const uintptr_t from = std::max(word, start), to = std::min(word + 4, end);
    const auto* part = reinterpret_cast<const void*>(from + distance);
    write ? access_write(actor, part, to - from) : access_read(actor, part, to - from);
  }
}

// From now on the thread itself has made these accesses.
void take_over(Plane& plane, std::size_t cell, const Actor& copy, const Actor& self) {
  const Record known = plane.at(cell);
  const Record entered = make_record(copy, known.mask(), {});
  if (!known.who || known.who != entered.who || (known.bits ^ entered.bits) & ~kPlaceBits) return;
  Actor now = self;
  now.pc = known.pc();
  plane.set(cell, make_record(now, known.mask(), {}));
}

void take_over_words(const void* p, unsigned bytes, bool write, const Actor& copy,
                     const Actor& self) {
  const uintptr_t start = history_of(p);
  if (!start || bytes == 0) return;
  for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) {
    Granule& granule = granule_of(word);
    const std::size_t cell = word % kGranule / 4;
    if (write) {
      take_over(granule.write, cell, copy, self);
    } else {
      for (Plane& reads : granule.reads) take_over(reads, cell, copy, self);
    }
  }
}

// The thread knows that it is over.
void settle_copy(const ThreadCopy& copy, const Actor& self) {
  Actor entered = self;
  entered.copy = copy.number;
  take_over_words(copy.to, copy.bytes, true, entered, self);
  take_over_words(copy.from, copy.kept, false, entered, self);
}

Clock clock_of_copies(const Block& block, uint16_t thread, uint32_t upto) {
  Clock known = block.kernel->before;  // who knows something of a kernel knows what preceded it
  known.advance_block(block.op, copies_of(block.number), 0, thread, upto);
  return known;
}

// --- barriers in memory -------------------------------------------------------------------------

void land_at_barrier(const CopiesAtBarrier& at) {
  ThreadCopies& copies = at.block->copies->threads[at.thread];
  for (ThreadCopy& copy : copies.waiting) {
    if (copy.number <= at.upto) land_copy(copy);
  }
  std::erase_if(copies.waiting, [&](const ThreadCopy& copy) { return copy.number <= at.upto; });
  copies_landed(at.barrier, at.starts, clock_of_copies(*at.block, at.thread, at.upto), at.where,
                op_of(at.block->op).rank);
  note_event();
}

// Barriers that are told of copies at a time of the schedule's choosing.
class CopyEngine final : public Runnable {
 public:
  CopyEngine() : Runnable(Kind::Network) {}
  void add(const CopiesAtBarrier& at) {
    flying_.push_back(at);
    enqueue(this);
  }
  void forget(const Block& block) {
    std::erase_if(flying_, [&](const CopiesAtBarrier& at) { return at.block == &block; });
  }
  void run() override {
    if (flying_.empty()) return;
    const auto first = random_schedule() ? random_below(flying_.size()) : 0;
    const CopiesAtBarrier at = flying_[first];
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(first));
    land_at_barrier(at);
    if (!flying_.empty()) enqueue(this);
  }

 private:
  std::vector<CopiesAtBarrier> flying_;
};
CopyEngine g_copy_engine;

bool is_at_barrier(const ThreadCopies& copies, const ThreadCopy& copy) {
  return !copies.at_barriers.empty() && copy.number <= copies.at_barriers.back().number;
}

// Waits of the thread no longer settle them: others may know of them by the barrier alone.
void move_to_barrier(ThreadCopies& copies) {
  for (const ThreadCopy& copy : copies.waiting) {
    if (is_at_barrier(copies, copy)) continue;
    if (!copies.at_barriers.empty() && copies.at_barriers.back().group == copy.group) {
      copies.at_barriers.back().number = copy.number;
    } else {
      copies.at_barriers.push_back({copy.group, copy.number});
    }
  }
}

bool lands_at_once() {
  if (g_config.timing == NetTiming::Eager) return true;
  return g_config.timing == NetTiming::Random && random_below(2);
}

// --- issue --------------------------------------------------------------------------------------

void report_copy(const std::string& message, const char* hint,
                 const char* kind = kinds::async_misuse) {
  report_finding({.kind = kind, .message = message, .hint = hint});
}

// Shapes of cp.async that the machine takes; else the run ends here.
void check_copy_shape(const void* to, const void* from, unsigned size, bool right_spaces) {
  const auto all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (size != 4 && size != 8 && size != 16) {
    report_copy(format("cp.async of %u bytes", size), "copy 4, 8 or 16 bytes at a time");
    stop_run();
  }
  if (all % size) {
    report_copy(format("cp.async of %u bytes: both addresses must be multiples of that", size),
                "align both sides, or copy fewer bytes at a time", kinds::misaligned);
    stop_run();
  }
  if (right_spaces) return;
  report_copy("cp.async does not go from global memory to shared memory of the block",
              "name the spaces as the addresses are");
  stop_run();
}

// As the plain accesses would count that make it in modelled time (group_copy, ptx::copy_async).
void count_copy(const ThreadCopy& copy) {
  const std::size_t all = reinterpret_cast<uintptr_t>(copy.to) |
                          (copy.kept ? reinterpret_cast<uintptr_t>(copy.from) : 0) | copy.kept;
  const unsigned piece = all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
  g_stats.accesses += 2 * (copy.kept / piece) + (copy.bytes - copy.kept);
}

// Both sides as accesses of the thread. False: one is not allowed.
bool check_copy_sides(const ThreadCopy& copy) {
  const bool known = copy.kept == 0 || may_copy(copy.from, copy.kept, false);
  return may_copy(copy.to, copy.bytes, true) && known;
}

void stage_copy(ThreadCopy& copy) {
  if (g_spoiling) {
    settle_spoiled();
    if (copy.kept) spoil_access(copy.from, copy.kept, false, false);
  }
  std::memcpy(copy.data, copy.from, copy.kept);
  if (g_spoiling) settle_spoiled();
}

void enter_sides(const ThreadCopy& copy) {
  if (g_carrying) {
    if (copy.kept) note_carried(copy.from, copy.kept, true, false);
    note_carried(copy.to, copy.bytes, false, false);
  }
  note_device_stores(copy.to, copy.bytes);
  if (!g_config.race) return;
  const uint32_t pc = program_place();
  if (copy.kept && may_be_fresh(reinterpret_cast<uintptr_t>(copy.from))) {
    note_fresh_read(copy.from, copy.kept, pc);
  }
  if (g_stores_pending) settle_stores();
  Actor actor = current_actor(pc);
  actor.copy = copy.number;
  enter_copy<false>(actor, copy.from, copy.kept);
  enter_copy<true>(actor, copy.to, copy.bytes);
}

}  // namespace

bool copies_later(const void* to, const void* from, unsigned size) {
  const GpuThread& thread = issuing_thread("cp.async");
  const bool to_shared = touches_shared(reinterpret_cast<uintptr_t>(to), *thread.block);
  const bool from_global = !from || is_bulk_global(from, 1);
  const bool of_threads = from && (space_of(from) == Space::Shared || in_own_stack(from));
  if (size) check_copy_shape(to, from, size, to_shared && !of_threads);
  return to_shared && from_global && !g_timed;
}

void copy_later(void* to, const void* from, unsigned bytes, unsigned kept) {
  GpuThread& thread = issuing_thread("cp.async");
  Block& block = *thread.block;
  ThreadCopy copy{.to = static_cast<char*>(to), .from = from};
  copy.bytes = static_cast<uint8_t>(std::min<std::size_t>(bytes, sizeof copy.data));
  copy.kept = static_cast<uint8_t>(std::min<unsigned>(kept, copy.bytes));
  if (!check_copy_sides(copy)) return;
  thread.touched_memory = true;
  count_copy(copy);
  if (!block.copies) {
    block.copies = std::make_shared<BlockCopies>();
    block.copies->threads.resize(block.threads.size());
  }
  ThreadCopies& copies = block.copies->threads[thread.linear];
  copy.number = ++copies.issued;
  copy.group = copies.open;
  enter_sides(copy);
  stage_copy(copy);
  if (lands_at_once()) land_copy(copy);
  copies.waiting.push_back(copy);
}

void copies_commit() {
  if (ThreadCopies* copies = copies_of_thread()) copies->open++;
}

void copies_wait(unsigned left) {
  ThreadCopies* copies = copies_of_thread();
  if (!copies) return;
  // The group `open` is not committed yet.
  const auto is_over = [&](uint64_t group) { return group + left < copies->open; };
  const Actor self = current_actor(0);
  for (ThreadCopy& copy : copies->waiting) {
    if (!is_over(copy.group)) break;
    land_copy(copy);
    if (g_config.race && !is_at_barrier(*copies, copy)) settle_copy(copy, self);
  }
  std::erase_if(copies->waiting, [&](const ThreadCopy& copy) { return is_over(copy.group); });
  uint32_t upto = 0;
  for (const auto& [group, number] : copies->at_barriers) {
    if (is_over(group)) upto = number;
  }
  std::erase_if(copies->at_barriers, [&](const auto& at) { return is_over(at.group); });
  if (!upto || !g_config.race) return;
  const GpuThread& thread = *current_thread();
  acquire_clock(clock_of_copies(*thread.block, static_cast<uint16_t>(thread.linear), upto));
}

void copies_wait_all() {
  copies_commit();
  copies_wait(0);
}

void arrive_behind_copies(PhaseBarrier* barrier, bool counted, Scope scope) {
  GpuThread& thread = issuing_thread("cp.async.mbarrier.arrive");
  ThreadCopies* copies = copies_of_thread();
  if (!copies) {
    arrive_at(barrier, counted ? 1 : 0, scope);
    return;
  }
  move_to_barrier(*copies);
  const uint32_t starts = hold_for_copies(barrier, counted ? 1 : 0, scope);
  const CopiesAtBarrier at{thread.block,   static_cast<uint16_t>(thread.linear),
                           copies->issued, barrier,
                           starts,         capture_frames()};
  if (lands_at_once()) {
    land_at_barrier(at);
  } else {
    g_copy_engine.add(at);
  }
}

void forget_copies(const Block& block) {
  if (block.copies) g_copy_engine.forget(block);
}

}  // namespace warploom
