// Kernels, blocks, threads and warps in flight.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../../include/warploom/device.h"
#include "cuda/stream.h"
#include "kernels/start_order.h"
#include "metering/meter.h"
#include "order/clock.h"
#include "order/race.h"
#include "schedule/scheduler.h"

namespace warploom {

struct Kernel;
struct Block;
struct Cluster;
struct WarpState;
struct BlockCopies;
void release_closure(void* closure);

// What every thread touches comes first, in one cache line.
struct alignas(64) GpuThread : ThreadPlace {
  bool finished = false;
  bool touched_memory = false;  // it did more than return early
  bool has_own_clock = false;   // it acquired something that its block has not
  // A plain read that raced with an atomic: no defect if a compare-and-swap with what it got
  // follows, which is how CUDA programs build their own atomics.
  bool has_suspect = false;
  uint32_t barriers_reached = 0;  // of the whole block, and named ones
  int barrier_site = 0;           // where it has come to the last one
  bool fenced = false;
  Block* block = nullptr;
  Fiber* fiber = nullptr;
  WarpState* meeting = nullptr;      // where it met lanes of its warp last
  const char* group_call = nullptr;  // the NCCL operation whose group barrier it is in
  uint64_t cluster_arrival = 0;      // the opening of the cluster's barrier that it has arrived for
  int stored_to = -1;  // device of a store to a peer that was not yet released to the system
  Scope fence_scope = Scope::Block;
  Clock own;
  // Fences and relaxed atomics, as in the C++ memory model.
  Clock fence_release;          // published by later relaxed atomic writes
  Clock init_release;           // the same of the barriers that it initialized alone
  uint32_t fence_interval = 0;  // barrier interval of the block in which that was
  uintptr_t counted_at = 0;     // the address of its last read-modify-write since then
  // Seen by relaxed atomic reads, acquired by the next fence that reaches as far: to threads of its
  // block, to those of its device, to all.
  Clock pending[3];
  unsigned gathered = 0;  // the answer to __activemask
};

// Lanes of one warp that meet with one mask.
struct WarpState {
  unsigned warp = 0, mask = 0;
  WarpOperation operation{};
  unsigned missing = 0;  // lanes that the others wait for
  uint64_t value[32] = {};
  uint64_t out[32] = {};
  unsigned arrived = 0;
  unsigned present = 0;  // lanes that gave what is in `out`
  uint64_t generation = 0;
  uint64_t ordered = 0;  // generation whose accesses have been ordered
  uint64_t counted = 0;  // generation whose votes have been counted
  unsigned votes = 0;    // lanes that gave something else than 0
  WaitReason reason{};
  std::vector<Fiber*> waiting;
};

struct BarrierState {
  unsigned arrived = 0, expected = 0;
  int site = 0;  // source line of the first to arrive
  bool sites_differ = false;
  unsigned in_group_call = 0;  // threads that came from an NCCL operation of the whole block
  int count = 0, all = 1, any = 0, result_count = 0, result_all = 0, result_any = 0;
  Frames where, other, group_where;
  WaitReason reason{};
  std::vector<Fiber*> waiting;
};

// Threads of one warp that asked at one place who is with them.
struct Gathering {
  unsigned warp;
  int site;
  unsigned mask = 0;
  std::vector<Fiber*> waiting{};
};

struct SharedVariable {
  const void* key;
  uintptr_t start;
  std::size_t bytes;
  const char* name;
  std::size_t align = 1;  // as its type asks for
};

// The operation that was found to be over last, of those whose numbers have the same rest.
using KnownOps = std::array<OpId, 8>;

struct Block final : Runnable {
  Block() : Runnable(Kind::Block) {}
  ~Block() override;
  void run() override;
  Kernel* kernel = nullptr;
  // What each access looks at, together.
  OpId op = 0;          // of the kernel
  uint32_t number = 0;  // linear index in the grid
  uint32_t time = 1, base = 1;
  // `time` at the last one of its threads, for shared and for global memory.
  uint32_t proxy_fence = 0, global_proxy_fence = 0;
  // Operations that `clock` was found to cover last.
  KnownOps known_ops{};
  // The shared variables that were accessed last: kernels go from one to the other and back.
  struct Hit {
    uintptr_t start = 0, end = 0;
  };
  static constexpr unsigned kHits = 4;
  Hit hits[kHits];
  std::vector<uint32_t> warp_base;
  bool alone = false;  // `clock` says nothing of other blocks of the kernel: see note_clock
  unsigned next_hit = 0;
  // The same of the landing of a put, the reading of one.
  std::pair<OpId, uint32_t> known_landing{}, known_reading{};
  uint3 index;
  std::vector<GpuThread> threads;
  unsigned next_thread = 0, live = 0;
  std::vector<Fiber*> ready;
  // Who runs next while the block has its turn; nullptr: the scheduler decides.
  Fiber* next_fiber() { return turn_is_over() ? next_turn() : next_in_turn(); }
  bool turn_is_over() const { return turn_at == turn.size(); }
  Fiber* next_in_turn();
  // Nobody: it takes more than to look.
  Fiber* next_at_once() { return turn_is_over() ? next_to_start() : next_in_turn(); }
  Context* pass_on();      // of who runs next, when the running fiber waits
  Fiber* next_to_start();  // nullptr: others come first
  void work(Fiber* self);  // what each of its fibers does
  int slot = -1;           // shared memory slot
  std::size_t shared_used = 0;
  std::vector<SharedVariable> shared;  // those in use, at most a few
  uintptr_t dynamic_start = 0;
  BarrierState barrier;       // __syncthreads
  BarrierState grid_barrier;  // grid.sync(), before the other blocks have come
  std::vector<Gathering> gatherings;
  std::map<unsigned, BarrierState> named_barriers;
  struct PartMemory {
    PartMemory() = default;
    explicit PartMemory(std::size_t count) : start(closure_memory(count)), bytes(count) {}
    struct Release {
      void operator()(void* memory) const { release_closure(memory); }
    };
    std::unique_ptr<void, Release> start;
    std::size_t bytes = 0;
  };
  std::map<unsigned, PartMemory> part_memory;  // of tiles of several warps
  std::vector<std::unique_ptr<WarpState>> warps;
  // By warp, once there are any `warps`: the state that it used last, and who has not ended.
  std::vector<WarpState*> last_meeting;
  std::vector<unsigned> live_lanes;
  unsigned meetings = 0;          // at which lanes wait for others
  bool saw_narrow_scope = false;  // a release whose scope did not reach one of its threads
  bool has_pending = false;       // some thread has read what a later fence would acquire
  bool has_fenced = false;        // some thread has made a fence
  bool stored_to_peers = false;   // some thread has a `stored_to`, or had
  bool gives_way = false;         // a thread of it was preempted: others come first
  // Happens-before inside of the block.
  Clock clock;
  void note_clock() { alone = !clock.knows_other_blocks(op, number); }  // after each change
  std::vector<GpuThread*> with_own_clock;
  std::unique_ptr<BlockMeter> meter;  // in timed runs
  // Threads that fenced since the last barrier; what they published, from the barrier on.
  std::vector<GpuThread*> with_fence;
  bool fenced = false;
  Clock fence_release;
  Scope fence_scope = Scope::System;
  // The blocks that run with it (cluster.cpp), and who of its threads is at their barrier.
  std::shared_ptr<BlockCopies> copies;  // of its threads, by cp.async; nullptr: there were none
  std::shared_ptr<Cluster> cluster;     // nullptr: it has asked for none
  unsigned cluster_rank = 0, cluster_arrived = 0;
  bool cluster_whole = false;   // by cluster.sync()
  bool used_by_others = false;  // its shared memory, by blocks of its cluster

 private:
  void make_threads();
  void place_threads();
  Fiber* next_turn();
  bool begin_turn();
  bool start_worker();
  void finish_thread(GpuThread& thread);
  void before_exit(GpuThread& thread);
  void after_exit(GpuThread& thread);
  std::vector<Fiber*> turn;
  std::size_t turn_at = 0;
};

// What stays as it is while a block has its turn, for the accesses of its threads.
struct Turn {
  Block* block = nullptr;
  uint64_t who = 0;  // as records have it
  uintptr_t program = 0, program_bytes = 0;
  uint8_t owner = 0;  // the mark of memory that is the device's own
};
extern Turn g_turn;

struct Kernel {
  // Few blocks at a time keep the memory in use small.
  static constexpr unsigned kWindow = 8;
  ~Kernel();
  void start_block();
  Block& start_ahead(uint64_t number);  // out of turn
  void activate_blocks();               // as many as there is room for, unless they start late
  void block_finished(Block* block);
  // It has another `__shared__` variable, or clusters: fewer blocks fit at once.
  void needs_room();
  std::size_t static_bytes() const;  // of its `__shared__` variables, as far as they are known
  void block_parked();               // a block waits: it may be for one that has not started
  Block& begin(uint64_t number);
  const char* name = "";
  LaunchConfig config{dim3(), dim3()};
  KernelBody body{};
  // Parameters that it may only read, by number and size.
  std::map<std::pair<unsigned, std::size_t>, void*> constants;
  std::shared_ptr<void> body_owner;  // a graph's launches share the arguments
  StreamOp* op = nullptr;
  Clock before;          // what is ordered before the kernel: no block knows what another one did
  KnownOps known_ops{};  // that `before` was found to cover
  int device = 0, rank = 0;
  bool of_guest = false;  // see Device::process
  uint32_t number = 0;    // of the launch
  Process* process = nullptr;
  std::vector<std::unique_ptr<Block>> resident;
  std::vector<Fiber*> fibers;            // all that worked for it, and may for others now
  std::vector<GpuThread> spare_threads;  // of a block that has ended, for the next one's use
  uint64_t next_block = 0, total_blocks = 0, finished_blocks = 0;
  dim3 cluster{1, 1, 1};
  std::set<uint64_t> started_ahead;
  std::set<uint32_t> proxy_fenced;  // blocks with a proxy fence for global memory
  // Of a kernel in clusters, whose blocks have each shared variable at the same place: `start`
  // counts from the start of a block's window.
  std::vector<SharedVariable> shared_places;
  unsigned residency = 0;  // blocks that fit on the device at once
  // `__shared__` variables that its blocks have met so far, in bytes.
  std::map<const void*, std::size_t> static_shared;
  std::size_t stack_limit = 0;  // cudaLimitStackSize at its launch
  unsigned window = kWindow;    // blocks in flight now; grows when one waits
  StartPlan start;
  // grid.sync()
  uint64_t at_grid_barrier = 0;  // blocks
  uint64_t grid_generation = 0;
  Clock grid_clock;
  std::unique_ptr<KernelMeter> meter;  // in timed runs
  double start_time = 0;
};

[[gnu::always_inline]] inline Fiber* Block::next_in_turn() {
  if (turn_at + 4 < turn.size()) {
    __builtin_prefetch(turn[turn_at + 4]);
    __builtin_prefetch(turn[turn_at + 2]->gpu);
    prefetch_stack(*turn[turn_at + 2]);
  }
  return turn[turn_at++];
}

inline Context* Block::pass_on() {
  Fiber* next = next_fiber();
  if (!next) return &g_scheduler;
  hand_over(next);
  return next;
}

// What is ordered before the thread's next access.
inline const Clock& effective_clock(const GpuThread& thread) {
  return thread.has_own_clock ? thread.own : thread.block->clock;
}

// The running GPU thread; nullptr on the host.
inline GpuThread* current_thread() { return g_current ? g_current->gpu : nullptr; }
// Ends the run if a thread of the kernel has used more stack than there is.
void check_stacks(const Kernel& kernel);
// Kernels that are running now, for reports.
const std::vector<Kernel*>& running_kernels();
// The most that launches of a kernel asked for, for each block: threads, bytes of dynamic shared
// memory, and what cudaFuncSetAttribute had allowed of that.
struct LargestBlock {
  uint64_t threads = 0;
  std::size_t dynamic_shared = 0, allowed_shared = 0;
};
const std::map<std::string, LargestBlock>& largest_blocks();  // by the kernel's name
// Joins what the block's threads have acquired; everything so far is ordered for all of them.
void order_block(Block& block);
// What a fence of one of its threads covers, a later store of another one gives on.
void share_fences(Block& block);
// Orders threads of the block that have met, and no others.
void order_part(Block& block, std::span<GpuThread* const> threads);
// A thread has ended: barriers and warp operations that waited for it may go on.
void barrier_after_exit(Block& block);
void warps_after_exit(Block& block, const GpuThread& thread);
void grid_barrier_after_exit(Block& block);
// Nobody else can come: tells gathered threads who is with them.
void release_gatherings(Block& block);

}  // namespace warploom
