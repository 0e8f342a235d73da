// What the work of a kernel costs: each block has its share of the device, and each thread its own
// latencies. Only timed runs come here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

namespace warploom {

struct Block;
struct Fiber;
struct Kernel;

// What a block uses up of the device between two barriers, in nanoseconds of its share. Stores
// leave a multiprocessor one after another and hold up the loads behind them, so their time adds to
// that of the threads; of the rest the longest counts.
struct Usage {
  double issue = 0, l1 = 0, l2 = 0, stores = 0, dram = 0, link = 0, host_link = 0;
  double longest() const { return std::max({issue, l1, l2, dram, link, host_link}); }
  void operator+=(const Usage& other) {
    issue += other.issue, l1 += other.l1, l2 += other.l2, stores += other.stores;
    dram += other.dram, link += other.link, host_link += other.host_link;
  }
};

// Sectors that a block has touched. Its threads run one after another here, so that what lanes do
// together on a device lies far apart: it must hold all that the block touches, not just a cache's
// worth.
struct SectorSet {
  static constexpr unsigned kBits = 16;
  std::vector<uint64_t> tags = std::vector<uint64_t>(std::size_t{1} << kBits);
  uint64_t owner = 0;  // above the bits of a sector: one owner's tags mean nothing to the next
};

// Bytes that a kernel moves.
struct Traffic {
  double l2 = 0, dram = 0, link = 0, host_link = 0;
  void operator+=(const Traffic& other) {
    l2 += other.l2, dram += other.dram, link += other.link, host_link += other.host_link;
  }
  Traffic times(double factor) const {
    return {l2 * factor, dram * factor, link * factor, host_link * factor};
  }
};

struct BlockMeter {
  double start = 0, end = 0;
  double segment_start = 0;  // since the last barrier of all threads
  uint32_t segment = 0;
  Usage used;
  // Nanoseconds for each lane's operation and for each byte, with this block's share.
  Usage price;
  double waited = 0, communicated = 0;  // on the path that ended last
  uint64_t warp_operations[32] = {};    // of the longest lane, in this segment
  // Of each warp: which lines the lane before loaded, load by load. A load passes each line once.
  std::vector<uint32_t> lines[32];
  double loaded = 0, passed = 0;             // bytes that lanes asked for, and those of the lines
  double constants = 0, constant_turns = 0;  // loads of constants, and turns that these took
  double threads_beside = 0;                 // that a multiprocessor runs at once, of this kernel
  bool knows_handles = false;                // it has read NCCL's descriptors
  bool told_far = false;  // it has stored a flag in a peer's memory: its end waits for the answer
  SectorSet* read = nullptr;     // the L1 cache: what other lanes have loaded as well
  SectorSet* written = nullptr;  // stores that are combined with those of other lanes
  SectorSet* beside = nullptr;   // what blocks have loaded that run on its multiprocessor with it
};

struct KernelMeter {
  double start = 0, end = 0;
  double waited = 0, communicated = 0;
  unsigned resident = 0;  // blocks that the device holds at once
  double fraction = 0;    // of the device that they take
  double others = 0;      // what kernels take that run at the same time
  Traffic others_move;    // and what these move in a nanosecond
  Traffic moved;
  // By multiprocessor: what its blocks of this wave have loaded. They share its L1 cache.
  std::vector<SectorSet*> loaded_by_sm;
  uint64_t wave = 0;
  double loads = 0, loads_alone = 0;  // sectors that blocks needed; no other block had loaded them
  double alone = 1;                   // the share of these when the kernel ran last
  std::priority_queue<double, std::vector<double>, std::greater<>> slots;  // when each is free
  std::unordered_map<uintptr_t, uint32_t> atomics;  // how often each address was changed
  std::vector<uint32_t> further;  // the same beyond so many addresses; several share a count
  uint32_t hottest = 0;
};

void begin_kernel(Kernel& kernel);
void begin_block(Block& block);
void begin_thread(Block& block);
void end_thread(Block& block);
void end_block(Block& block);
void end_kernel(Kernel& kernel);

// Threads that waited for each other go on together, with the running one.
void meet_block(Block& block, const std::vector<Fiber*>& waiting);
void meet_threads(const std::vector<Fiber*>& waiting, double cost);
void meet_warp(const std::vector<Fiber*>& waiting);
void meet_grid(Kernel& kernel);
double block_barrier_ns(unsigned threads);

// The running GPU thread touches memory, or does arithmetic.
void meter_access(const void* address, std::size_t bytes, bool write);
void meter_local(const void* address, std::size_t bytes, bool write);  // in its own stack
void meter_atomic(const void* address, unsigned bytes, bool reads, bool writes);
// The running GPU thread sees what others have written: its multiprocessor's L1 cache is of no use.
void meter_acquire();
// It reads the first of NCCL's descriptors, which no kernel has in its caches.
void meter_handles();
// It reads NCCL's descriptor of the window over `memory`, which lies in its device's memory.
void meter_descriptor(const void* memory);
// The running GPU thread has a copy made in the background, which takes so long.
double price_bulk(const void* from, const void* to, std::size_t bytes);
// The values that were loaded are needed now, and the running thread is no earlier than what its
// block has used up allows.
void settle_work();

}  // namespace warploom
