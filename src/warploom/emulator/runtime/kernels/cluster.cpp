// Clusters: blocks that run at the same time, meet at a barrier and share their shared memory. Each
// block finds the others of its cluster when it begins, so that one which only the kernel itself
// asks for (`__cluster_dims__`) needs no other launch.
#include "kernels/cluster.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "../../include/warploom/cluster.h"
#include "kernels/async_lane.h"
#include "kernels/kernel_plan.h"
#include "kernels/shared_memory.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "order/history.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// Blocks with a thread that has been through the barrier: all of the cluster's have begun, even
// where arrivals release nothing.
std::unordered_set<const Block*> g_met_others;

unsigned blocks_of(dim3 shape) { return shape.x * shape.y * shape.z; }

void report_cluster(const std::string& message, const char* hint, const Frames& where = {}) {
  report_finding({.kind = kinds::cluster_misuse, .message = message, .hint = hint, .where = where});
}

constexpr const char* kLifetimeHint =
    "call cluster.sync() before the first use of another block's shared memory, and after the last "
    "one: all blocks are there in between";

uint64_t number_at(dim3 grid, unsigned x, unsigned y, unsigned z) {
  return (uint64_t{z} * grid.y + y) * grid.x + x;
}

// The block with this number, which begins now if it has not.
Block& block_of(Kernel& kernel, uint64_t number) {
  for (const auto& block : kernel.resident) {
    if (block->number == number) return *block;
  }
  return kernel.start_ahead(number);
}

void form_cluster(Block& first) {
  Kernel& kernel = *first.kernel;
  const dim3 shape = kernel.cluster, grid = kernel.config.grid;
  const uint3 at = first.index;
  const uint3 from = {at.x - at.x % shape.x, at.y - at.y % shape.y, at.z - at.z % shape.z};
  auto cluster = std::make_shared<Cluster>();
  cluster->shape = shape;
  for (unsigned z = 0; z < shape.z; z++) {
    for (unsigned y = 0; y < shape.y; y++) {
      for (unsigned x = 0; x < shape.x; x++) {
        Block& block = block_of(kernel, number_at(grid, from.x + x, from.y + y, from.z + z));
        block.cluster = cluster;
        block.cluster_rank = static_cast<unsigned>(cluster->blocks.size());
        cluster->blocks.push_back(&block);
      }
    }
  }
}

// Of a block that is in none: it is one by itself.
Cluster& cluster_of(Block& block) {
  if (!block.cluster) {
    block.cluster = std::make_shared<Cluster>();
    block.cluster->shape = dim3(1, 1, 1);
    block.cluster->blocks = {&block};
  }
  return *block.cluster;
}

GpuThread& clustered_thread(const char* what) {
  GpuThread* thread = current_thread();
  if (!thread) stop_unsupported(what, "it was called outside of a kernel");
  return *thread;
}

bool all_arrived(const Cluster& cluster) {
  return std::ranges::all_of(cluster.blocks, [](const Block* block) {
    return !block || block->cluster_arrived >= block->live;
  });
}

// The block as a whole: what each of its threads did before is ordered before what comes next.
void release_block(Cluster& cluster, Block& block) {
  order_block(block);
  block.clock.advance_block(block.op, block.number, block.base, 0, 0);
  cluster.released.join(block.clock);
}

void acquire_block(const Cluster& cluster, Block& block) {
  block.clock.join(cluster.completed);
  order_block(block);
  block.clock.settle();
  block.note_clock();
}

void open_if_all_arrived(Cluster& cluster) {
  if (!all_arrived(cluster)) return;
  if (std::ranges::all_of(cluster.blocks, [](const Block* block) { return !block; })) return;
  cluster.openings++;
  cluster.completed = std::exchange(cluster.released, {});
  cluster.opened = cluster.latest + g_machine.shared_latency_ns;
  note_progress();
  for (Block* block : cluster.blocks) {
    if (!block) continue;
    block->cluster_arrived = 0;
    if (block->cluster_whole) acquire_block(cluster, *block);
    block->cluster_whole = false;
  }
  wake_all(cluster.waiting);
}

void arrive_in(Cluster& cluster, GpuThread& thread) {
  Block& block = *thread.block;
  if (thread.cluster_arrival) {
    report_cluster(
        "a thread arrives at the barrier of its cluster for the second time, without a "
        "wait in between",
        "let each thread call barrier.cluster.wait (barrier_wait) after its arrival");
    stop_run();
  }
  if (g_timed) cluster.latest = std::max(cluster.latest, time_now());
  thread.cluster_arrival = cluster.openings + 1;
  block.cluster_arrived++;
}

[[noreturn]] void refuse_mixture() {
  stop_unsupported("cluster.sync()",
                   "some threads of the block call it, while others arrive at the barrier of the "
                   "cluster apart from their wait");
}

void await_opening(Cluster& cluster, GpuThread& thread) {
  const uint64_t wanted = thread.cluster_arrival;
  const WaitReason reason{"the barrier of a cluster", [&cluster] {
                            unsigned arrived = 0, live = 0;
                            for (const Block* block : cluster.blocks) {
                              if (!block) continue;
                              arrived += block->cluster_arrived;
                              live += block->live;
                            }
                            return format("%u of %u threads have arrived", arrived, live);
                          }};
  while (cluster.openings < wanted) {
    cluster.waiting.push_back(g_current);
    block_current(reason);
  }
  thread.cluster_arrival = 0;
  g_met_others.insert(thread.block);
  if (g_timed) reach(cluster.opened);
}

bool still_used(const Record& record, const Actor& end) {
  if (record.op() != end.op || record.block() == end.block) return false;
  if (is_init(record.block())) return false;                     // each block initializes its own
  return !is_async(record.block()) && !is_ordered(record, end);  // copies: see finish_copies
}

void report_still_used(const Block& block, const Record& last, bool write) {
  FindingInfo info{
      .kind = kinds::cluster_misuse,
      .message = format("block %u of kernel %s ends while thread %u of block %u may still %s its "
                        "shared memory",
                        block.number, block.kernel->name, last.thread(), last.block(),
                        write ? "write" : "read"),
      .hint = kLifetimeHint,
      .rank = block.kernel->rank,
      .kernel = block.kernel->name};
  info.where.pc[0] = last.pc();
  info.launched = block.kernel->op->where;
  report_finding(std::move(info));
}

// Has all that others did there been ordered before the block's end?
void check_uses(const Block& block, uintptr_t start, std::size_t bytes) {
  const Actor end{.op = block.op,
                  .block = block.number,
                  .time = block.time,
                  .base = block.time,
                  .clock = &block.clock};
  for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) {
    const Granule& granule = granule_of(word);
    const std::size_t cell = word % kGranule / 4;
    const Record write = granule.write.at(cell);
    if (still_used(write, end)) return report_still_used(block, write, true);
    for (const auto& plane : granule.reads) {
      const Record read = plane.at(cell);
      if (still_used(read, end)) return report_still_used(block, read, false);
    }
  }
}

}  // namespace

void enter_cluster(Block& block) {
  if (!block.cluster && blocks_of(block.kernel->cluster) > 1) form_cluster(block);
}

void cluster_after_exit(Block& block, GpuThread& thread) {
  Cluster& cluster = *block.cluster;
  // It counts no more, whether or not it has arrived.
  if (thread.cluster_arrival == cluster.openings + 1) block.cluster_arrived--;
  thread.cluster_arrival = 0;
  if (block.live == 0) return;  // see leave_cluster
  if (block.cluster_whole && block.cluster_arrived >= block.live) release_block(cluster, block);
  if (block.cluster_arrived) open_if_all_arrived(cluster);
}

void leave_cluster(Block& block) {
  Cluster& cluster = *block.cluster;
  if (block.used_by_others && g_config.race) {
    for (const SharedVariable& variable : block.shared) {
      check_uses(block, variable.start, variable.bytes);
    }
    if (block.dynamic_start) {
      check_uses(block, block.dynamic_start, block.kernel->config.shared_bytes);
    }
  }
  g_met_others.erase(&block);
  cluster.blocks[block.cluster_rank] = nullptr;
  if (block.slot >= 0) cluster.ended.emplace_back(block.slot, block.number);
  open_if_all_arrived(cluster);
}

Block* sharer_of(const GpuThread& thread, uintptr_t address) {
  const Block& own = *thread.block;
  if (!own.cluster) return nullptr;
  const auto slot = static_cast<int>((address - g_places.shared) / kSharedStride);
  for (Block* block : own.cluster->blocks) {
    if (!block || block == &own || block->slot != slot) continue;
    if (g_config.race && !g_met_others.contains(&own) &&
        !effective_clock(thread).knows_block(own.op, block->number)) {
      report_cluster(format("shared memory of block %u is used by block %u of its cluster, which "
                            "does not know that it has begun",
                            block->number, own.number),
                     kLifetimeHint);
    }
    block->used_by_others = true;
    return block;
  }
  for (const auto& [ended, number] : own.cluster->ended) {
    if (ended != slot) continue;
    report_cluster(format("shared memory of block %u of the cluster is used after that block has "
                          "ended",
                          number),
                   kLifetimeHint);
    stop_run();
  }
  return nullptr;
}

void cluster_dims(unsigned x, unsigned y, unsigned z) {
  Block& block = *clustered_thread("__cluster_dims__").block;
  Kernel& kernel = *block.kernel;
  const dim3 shape(x, y, z), given = kernel.cluster;
  if (given.x == x && given.y == y && given.z == z) return enter_cluster(block);
  const bool two = blocks_of(given) > 1;
  if (two || check_cluster_shape(kernel.name, kernel.config.grid, shape)) {
    report_finding(
        {.kind = kinds::launch_error,
         .message = two ? format("kernel %s is launched in clusters of another shape than its "
                                 "__cluster_dims__",
                                 kernel.name)
                        : format("kernel %s with __cluster_dims__(%u, %u, %u) is launched with a "
                                 "grid of (%u, %u, %u)",
                                 kernel.name, x, y, z, kernel.config.grid.x, kernel.config.grid.y,
                                 kernel.config.grid.z),
         .hint = "the grid is a multiple of the cluster in each direction, and a cluster has at "
                 "most 8 blocks (16 with cudaFuncAttributeNonPortableClusterSizeAllowed)",
         .where = kernel.op->where});
    stop_run();
  }
  kernel.cluster = shape;
  kernel.needs_room();
  enter_cluster(block);
}

dim3 cluster_shape() { return cluster_of(*clustered_thread("a cluster").block).shape; }

dim3 cluster_place() {
  const dim3 shape = cluster_shape();
  const unsigned rank = clustered_thread("a cluster").block->cluster_rank;
  return dim3(rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y);
}

void cluster_arrive(bool release) {
  GpuThread& thread = clustered_thread("barrier.cluster.arrive");
  Block& block = *thread.block;
  Cluster& cluster = cluster_of(block);
  if (block.cluster_whole) refuse_mixture();
  arrive_in(cluster, thread);
  if (release) {
    cluster.released.join(release_clock());
  } else if (thread.fenced && thread.fence_scope != Scope::Block) {
    cluster.released.join(thread.fence_release);
  }
  cluster.released.join(thread.init_release);
  open_if_all_arrived(cluster);
}

void cluster_wait() {
  GpuThread& thread = clustered_thread("barrier.cluster.wait");
  Cluster& cluster = cluster_of(*thread.block);
  if (!thread.cluster_arrival) {
    report_cluster("a thread waits at the barrier of its cluster without having arrived",
                   "let each thread call barrier.cluster.arrive (barrier_arrive) before its wait");
    stop_run();
  }
  await_opening(cluster, thread);
  acquire_clock(cluster.completed);
}

void cluster_barrier() {
  GpuThread& thread = clustered_thread("cluster.sync()");
  Block& block = *thread.block;
  Cluster& cluster = cluster_of(block);
  if (block.cluster_arrived && !block.cluster_whole) refuse_mixture();
  arrive_in(cluster, thread);
  block.cluster_whole = true;
  if (block.cluster_arrived >= block.live) {
    release_block(cluster, block);
    open_if_all_arrived(cluster);
  }
  await_opening(cluster, thread);
}

void* cluster_map(const void* p, unsigned rank) {
  Block& block = *clustered_thread("map_shared_rank").block;
  Cluster& cluster = cluster_of(block);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (!in_shared(address) || rank >= cluster.blocks.size()) {
    report_cluster(in_shared(address)
                       ? format("rank %u of a cluster of %zu blocks", rank, cluster.blocks.size())
                       : std::string("an address that is not of shared memory is mapped to "
                                     "another block of the cluster"),
                   "map the address of a __shared__ variable to a rank below num_blocks()");
    stop_run();
  }
  Block* other = cluster.blocks[rank];
  if (!other) {
    report_cluster(
        format("shared memory of the block with rank %u, which has ended, is mapped", rank),
        kLifetimeHint);
    stop_run();
  }
  const uintptr_t offset = (address - g_places.shared) % kSharedStride;
  return reinterpret_cast<void*>(shared_window(*other) + offset);
}

unsigned cluster_rank_of(const void* p) {
  const Block& block = *clustered_thread("query_shared_rank").block;
  const auto slot =
      static_cast<int>((reinterpret_cast<uintptr_t>(p) - g_places.shared) / kSharedStride);
  if (block.cluster && in_shared(reinterpret_cast<uintptr_t>(p))) {
    for (const Block* other : block.cluster->blocks) {
      if (other && other->slot == slot) return other->cluster_rank;
    }
  }
  return block.cluster_rank;
}

}  // namespace warploom
