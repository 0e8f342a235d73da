// Copies that are made in the background. Like a put, a copy is entered into the history when it is
// issued, as a read and a write of nobody that threads know of until they have waited for it; so
// what it could collide with does not depend on when its bytes land.
#include "kernels/bulk_copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/stats.h"
#include "behavior/spoil.h"
#include "host/own_memory.h"
#include "kernels/phase_barrier.h"
#include "kernels/shared_memory.h"
#include "machine/world.h"
#include "memory/fresh.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "metering/meter.h"
#include "order/history.h"
#include "report/report.h"
#include "schedule/trace.h"
#include "timing/timing.h"

namespace warploom {

bool touches_shared(uintptr_t address, const Block& block) {
  return block.slot >= 0 && address - shared_start(block) < kSharedStride;
}

bool is_bulk_global(const void* p, unsigned bytes) {
  const Space space = space_of(p);
  return space == Space::Device || space == Space::Pinned ||
         (space == Space::None && (find_variable(p) || is_registered(p, bytes)));
}

// Nothing is known of registered memory but whose it is.
bool may_copy(const void* p, unsigned bytes, bool write) {
  if (check_access(p, bytes, write)) return true;
  return is_registered(p, bytes) && owner_of_host(p, bytes, write) == Whose::Own;
}

namespace {

// One copy on its way.
struct BulkCopy {
  char* to = nullptr;
  const void* from = nullptr;
  std::vector<char> staged;
  PhaseBarrier* done = nullptr;
  uint32_t starts = 0;  // of `done`
  AsyncLane* reads = nullptr;
  AsyncLane* writes = nullptr;
  uint32_t read = 0, written = 0;  // its numbers there
  uint64_t group = 0;
  Frames where;
  int device = 0;  // of the kernel
  bool landed = false;
};
using BulkPointer = std::shared_ptr<BulkCopy>;

// The groups of a thread, which it commits one after another.
struct BulkGroups {
  AsyncLane reads, writes;
  uint64_t open = 1;
  std::vector<BulkPointer> copies;  // not waited for
};

std::unordered_map<const GpuThread*, BulkGroups> g_bulk_groups;
// By the block that issued them: those on their way, and the last one of each lane.
std::unordered_map<const Block*, std::vector<BulkPointer>> g_at_barriers;

void report_bulk(const std::string& message, const char* hint,
                 const char* kind = kinds::async_misuse) {
  report_finding({.kind = kind, .message = message, .hint = hint});
}

// A block waits for copies to its shared memory; what was allocated may be gone when they land.
bool is_still_there(const BulkCopy& copy) {
  if (space_of(copy.to) == Space::Shared || !in_arena(copy.to)) return true;
  const Allocation* allocation = find_allocation(copy.to);
  if (!allocation || !allocation->live) return false;
  return reinterpret_cast<uintptr_t>(copy.to) + copy.staged.size() <=
         allocation->start + allocation->bytes;
}

void land_bulk(BulkCopy& copy) {
  if (std::exchange(copy.landed, true)) return;
  trace_of(op_of(copy.writes->op).rank, nullptr, copy.where,
           [&] { return format("the %zu bytes of a cp.async.bulk land", copy.staged.size()); });
  if (!is_still_there(copy)) {
    report_finding({.kind = kinds::use_after_free,
                    .message = format("a cp.async.bulk of %zu bytes lands in memory that was freed",
                                      copy.staged.size()),
                    .hint = "free memory only after the last operation on it has been synchronized",
                    .where = copy.where,
                    .rank = op_of(copy.writes->op).rank});
  } else {
    if (!in_arena(copy.to)) activate_device(copy.device);
    std::memcpy(copy.to, copy.staged.data(), copy.staged.size());
  }
  const auto bytes = static_cast<unsigned>(copy.staged.size());
  copy.staged = {};
  copy.reads->flying.erase(copy.read);
  copy.writes->flying.erase(copy.written);
  note_event();
  if (copy.done)
    bytes_landed(copy.done, copy.starts, bytes, copy.where, op_of(copy.writes->op).rank);
}

// What has been issued and lands at a time of the schedule's choosing.
class BulkEngine final : public Runnable {
 public:
  BulkEngine() : Runnable(Kind::Network) {}
  void add(BulkPointer copy) {
    flying_.push_back(std::move(copy));
    enqueue(this);
  }
  void run() override {
    while (!flying_.empty()) {
      const auto at = random_schedule() ? random_below(flying_.size()) : flying_.size() - 1;
      std::swap(flying_[at], flying_.back());
      const BulkPointer copy = std::move(flying_.back());
      flying_.pop_back();
      if (copy->landed) continue;
      land_bulk(*copy);
      break;
    }
    if (!flying_.empty()) enqueue(this);
  }

 private:
  std::vector<BulkPointer> flying_;
};
BulkEngine g_bulk_engine;

void send_bulk(const BulkPointer& copy) {
  if (!in_arena(copy->to) && !find_variable(copy->to)) {
    land_bulk(*copy);  // nobody says when registered memory is gone
  } else if (g_timed) {
    const double departs = time_now();
    const double arrives = departs + price_bulk(copy->from, copy->to, copy->staged.size());
    at_time(arrives, [copy, arrives, departs] {
      const AtTime arrival(arrives, departs);
      land_bulk(*copy);
    });
  } else if (g_config.timing == NetTiming::Eager) {
    land_bulk(*copy);
  } else {
    g_bulk_engine.add(copy);
  }
}

// Shapes of a copy that the machine takes; else it ends here.
void check_shape(const void* to, const void* from, unsigned bytes, const PhaseBarrier* done) {
  const bool to_shared = space_of(to) == Space::Shared,
             from_shared = space_of(from) == Space::Shared;
  const auto all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  if (all % 16) {
    report_bulk(format("cp.async.bulk of %u bytes: both addresses and the size must be multiples "
                       "of 16",
                       bytes),
                "align both sides with alignas(16), and round the size", kinds::misaligned);
    stop_run();
  }
  if (done && space_of(done) != Space::Shared) {
    report_bulk("the mbarrier of a cp.async.bulk does not lie in shared memory",
                "declare it __shared__");
    stop_run();
  }
  const bool right = done ? to_shared && (from_shared || is_bulk_global(from, bytes))
                          : from_shared && is_bulk_global(to, bytes);
  if (right) return;
  report_bulk(done ? "cp.async.bulk with an mbarrier does not go from global or shared memory "
                     "to shared memory"
                   : "cp.async.bulk of a group does not go from shared to global memory",
              "name the spaces as the addresses are");
  stop_run();
}

// Was it written by a thread of the kernel, as plain accesses write, and nobody of its block has
// made a proxy fence since? Of another block, one of either block will do: nothing says when.
bool lacks_proxy_fence(const Record& last, const Block& block, bool shared) {
  if (last.op() != block.op || op_of(last.op()).kind != OpKind::Kernel) return false;
  if (is_async(last.block()) || is_init(last.block()) || last.time() == kMaxTime) return false;
  if (last.block() == block.number) {
    return last.time() > (shared ? block.proxy_fence : block.global_proxy_fence);
  }
  const auto& fenced = block.kernel->proxy_fenced;
  return !shared && !fenced.contains(block.number) && !fenced.contains(last.block());
}

// What threads wrote is seen by such a copy behind a proxy fence for its state space alone.
void check_proxy(const void* from, unsigned bytes, const Block& block) {
  if (!g_config.race) return;
  const bool shared = space_of(from) == Space::Shared;
  const uintptr_t start = in_arena(from) ? reinterpret_cast<uintptr_t>(from) : shadow_of(from);
  if (!start) return;
  for (uintptr_t word = start; word < start + bytes; word += 4) {
    const Record last = granule_of(word).write.at(word % kGranule / 4);
    if (!lacks_proxy_fence(last, block, shared)) continue;
    FindingInfo info{
        .kind = kinds::missing_proxy_fence,
        .message = format("cp.async.bulk reads %s memory that thread %u%s wrote, and "
                          "no thread made a proxy fence in between",
                          shared ? "shared" : "global", last.thread(),
                          last.block() == block.number ? "" : " of another block"),
        .hint = shared ? "after the writes, and before the barrier, let the threads that wrote "
                         "call fence.proxy.async (cuda::ptx::fence_proxy_async)"
                       : "after the writes, and before the barrier, let the threads that wrote "
                         "call fence.proxy.async or fence.proxy.async.global "
                         "(cuda::ptx::fence_proxy_async)"};
    info.other.pc[0] = last.pc();
    report_finding(std::move(info));
    return;
  }
}

// The accesses of the copy, as far as the history is concerned; then its bytes.
void enter_bulk(BulkCopy& copy, const void* from, unsigned bytes, const Kernel& kernel) {
  const uint32_t pc = copy.where.pc[0];
  if (g_config.race && may_be_fresh(reinterpret_cast<uintptr_t>(from))) {
    note_fresh_read(from, bytes, pc);
  }
  const Clock before = release_clock();
  copy.read = copy.reads->issue(kernel);
  copy.written = copy.writes == copy.reads ? copy.read : copy.writes->issue(kernel);
  access_read(actor_of(*copy.reads, copy.read, before, pc), from, bytes);
  access_write(actor_of(*copy.writes, copy.written, before, pc), copy.to, bytes);
  const auto* first = static_cast<const char*>(from);
  copy.staged.assign(first, first + bytes);
}

// What moves between devices counts, and is spoiled, as it does for loads and stores.
void spoil_bulk(BulkCopy& copy, const void* from, int device) {
  if (!g_spoiling) return;
  if (space_of(from) == Space::Device && device_of(from) != device) {
    spoil(copy.staged.data(), copy.staged.size(), device_of(from));
  } else if (space_of(copy.to) == Space::Device && device_of(copy.to) != device) {
    spoil(copy.staged.data(), copy.staged.size(), device);
  }
}

GpuThread& copying_thread() {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported("cp.async.bulk", "it was called outside of a kernel");
  return *thread;
}

// Does the block know at its end that the copy is over?
bool is_waited_for(const BulkCopy& copy, const Block& block) {
  const AsyncLane& lane = *copy.reads;
  const auto thread = static_cast<uint16_t>(copy.read % 1024);
  return !g_config.race || block.clock.covers_block(lane.op, lane.block, thread, copy.read);
}

// All that the lane's later copies tell as well.
void remember_at_barrier(const Block& block, const BulkPointer& copy) {
  std::vector<BulkPointer>& copies = g_at_barriers[&block];
  std::erase_if(copies, [&](const BulkPointer& other) {
    return other->landed && other->reads == copy->reads;
  });
  copies.push_back(copy);
}

void finish_bulk(const BulkPointer& copy, const Block& block) {
  land_bulk(*copy);
  if (copy->done && is_waited_for(*copy, block)) return;
  report_finding(
      {.kind = kinds::missing_wait,
       .message = format("block %u of kernel %s ends while a cp.async.bulk may still %s "
                         "its shared memory",
                         block.number, block.kernel->name, copy->done ? "write to" : "read"),
       .hint = copy->done ? "wait for the phase of the mbarrier that the copy completes"
                          : "let the thread that issued it commit the group and call "
                            "cp.async.bulk.wait_group.read 0 at the end",
       .where = copy->where,
       .rank = block.kernel->rank,
       .kernel = block.kernel->name});
}

}  // namespace

void bulk_copy(void* to, const void* from, unsigned bytes, PhaseBarrier* done) {
  GpuThread& thread = copying_thread();
  Block& block = *thread.block;
  if (bytes == 0) return;
  const bool known = may_copy(from, bytes, false), allowed = may_copy(to, bytes, true);
  check_shape(to, from, bytes, done);
  if (!known || !allowed) stop_run();
  check_proxy(from, bytes, block);
  const auto copy = std::make_shared<BulkCopy>();
  copy->to = static_cast<char*>(to);
  copy->from = from;
  copy->where = capture_frames();
  copy->device = block.kernel->device;
  copy->done = done;
  thread.touched_memory = true;
  g_stats.accesses++;
  if (done) {
    copy->reads = copy->writes = &async_lane_at(done, "cp.async.bulk");
    copy->starts = starts_of(done);
  } else {
    BulkGroups& groups = g_bulk_groups[&thread];
    copy->reads = &groups.reads;
    copy->writes = &groups.writes;
    copy->group = groups.open;
  }
  enter_bulk(*copy, from, bytes, *block.kernel);
  spoil_bulk(*copy, from, block.kernel->device);
  if (done) {
    remember_at_barrier(block, copy);
  } else {
    g_bulk_groups[&thread].copies.push_back(copy);
  }
  send_bulk(copy);
}

void bulk_commit() { g_bulk_groups[&copying_thread()].open++; }

void bulk_wait(unsigned left, bool read) {
  const auto found = g_bulk_groups.find(&copying_thread());
  if (found == g_bulk_groups.end()) return;
  BulkGroups& groups = found->second;
  // The group `open` is not committed yet.
  const auto is_over = [&](const BulkPointer& copy) { return copy->group + left < groups.open; };
  for (const BulkPointer& copy : groups.copies) {
    if (is_over(copy)) land_bulk(*copy);
  }
  std::erase_if(groups.copies, is_over);
  if (!g_config.race || !groups.reads.op) return;
  // Both lanes count the same copies.
  const uint32_t below =
      groups.copies.empty() ? groups.reads.issued + 1 : groups.copies.front()->read;
  acquire_clock(groups.reads.clock(below));
  if (!read) acquire_clock(groups.writes.clock(below));
}

void proxy_fence(bool shared, bool global) {
  GpuThread* thread = current_thread();
  if (!thread) return;
  Block& block = *thread->block;
  const uint32_t now = block.time++;
  if (shared) block.proxy_fence = now;
  if (!global) return;
  block.global_proxy_fence = now;
  if (g_config.race) block.kernel->proxy_fenced.insert(block.number);
}

void finish_copies(Block& block) {
  if (g_bulk_groups.empty() && g_at_barriers.empty()) return;
  for (const GpuThread& thread : block.threads) {
    const auto found = g_bulk_groups.find(&thread);
    if (found == g_bulk_groups.end()) continue;
    for (const BulkPointer& copy : found->second.copies) finish_bulk(copy, block);
    g_bulk_groups.erase(found);
  }
  const auto own = g_at_barriers.find(&block);
  if (own != g_at_barriers.end()) {
    for (const BulkPointer& copy : own->second) finish_bulk(copy, block);
    g_at_barriers.erase(own);
  }
  // Those that others of its cluster have sent it.
  for (auto& [issuer, copies] : g_at_barriers) {
    for (const BulkPointer& copy : copies) {
      if (touches_shared(reinterpret_cast<uintptr_t>(copy->to), block)) finish_bulk(copy, block);
    }
  }
}

}  // namespace warploom
