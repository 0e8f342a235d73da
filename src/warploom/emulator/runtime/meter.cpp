#include "meter.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernel.h"
#include "memory.h"
#include "timeline.h"
#include "timing.h"
#include "variables.h"

namespace warploom {

namespace {

constexpr unsigned kSector = 32;  // bytes that move at a time between caches and memory
constexpr std::size_t kExactAddresses = std::size_t{1} << 18;  // of atomics of one kernel
constexpr unsigned kFurtherBits = 16;

// Kernels of a device, to share it between those that run at the same time.
struct Running {
  const Kernel* kernel;  // nullptr once it has ended
  double start, end, fraction;
};
std::map<int, std::vector<Running>> g_sharing;
std::map<int, std::vector<uint32_t>> g_l2;         // tags, by device
std::map<std::string, std::size_t> g_shared_used;  // by kernel: known once a block has run
std::vector<std::unique_ptr<SectorSet>> g_sector_sets;
std::vector<SectorSet*> g_unused_sets;
uint64_t g_owners = 0;

unsigned at_least_one(double value) { return std::max(1u, static_cast<unsigned>(value)); }

unsigned threads_of(const Kernel& kernel) {
  const dim3 b = kernel.config.block;
  return (b.x * b.y * b.z + 31) / 32 * 32;
}

unsigned blocks_per_sm(const Kernel& kernel) {
  const Machine& m = g_machine;
  const double threads = threads_of(kernel);
  double blocks = std::min(m.blocks_per_sm, m.threads_per_sm / threads);
  blocks = std::min(blocks, m.registers_per_sm / (m.registers_per_thread * threads));
  const auto known = g_shared_used.find(kernel.name);
  const std::size_t shared =
      std::max(kernel.config.shared_bytes, known == g_shared_used.end() ? 0 : known->second);
  // One KiB of each block's shared memory is the system's (CUDA guide, compute capability 9.0).
  if (shared) {
    blocks = std::min(blocks, m.shared_per_sm_kb * 1024 / (static_cast<double>(shared) + 1024));
  }
  return at_least_one(blocks);
}

// Blocks that run beside `number`, itself included: the last wave may be small.
unsigned beside(const Kernel& kernel, uint64_t number) {
  const uint64_t wave = kernel.meter->resident;
  return static_cast<unsigned>(
      number / wave == kernel.total_blocks / wave ? kernel.total_blocks % wave : wave);
}

Usage prices(const Kernel& kernel, unsigned active) {
  const Machine& m = g_machine;
  const double on_sm = std::max(1.0, active / m.sm_count);
  const double ours = kernel.meter->fraction / (kernel.meter->fraction + kernel.meter->others);
  const double share = active / ours;
  Usage price;
  price.issue = on_sm / (m.lanes_per_sm * m.clock_ghz);
  price.l1 = on_sm / (m.shared_bytes_per_cycle * m.clock_ghz);
  price.l2 = std::max(share / m.l2_gbs, on_sm / m.sm_gbs);
  price.stores = on_sm / m.sm_store_gbs;
  price.dram = std::max(share / m.dram_gbs, on_sm / m.sm_gbs);
  price.link = std::max(share / m.nvlink_gbs, 1 / m.lsa_cta_gbs);
  price.host_link = share / m.pcie_gbs;
  return price;
}

SectorSet* take_set() {
  if (g_unused_sets.empty()) {
    g_sector_sets.push_back(std::make_unique<SectorSet>());
    g_unused_sets.push_back(g_sector_sets.back().get());
  }
  SectorSet* set = g_unused_sets.back();
  g_unused_sets.pop_back();
  set->owner = ++g_owners << 44;
  return set;
}

// Was the sector there? It is now.
bool hit(SectorSet& set, uintptr_t sector) {
  uint64_t& tag = set.tags[sector * 0x9E3779B97F4A7C15 >> (64 - SectorSet::kBits)];
  return std::exchange(tag, set.owner | sector) == (set.owner | sector);
}

// Was the sector there? It is now.
bool hit(std::vector<uint32_t>& tags, uintptr_t sector) {
  uint32_t& tag = tags[sector % tags.size()];
  const auto wanted = static_cast<uint32_t>(sector) | 0x80000000u;
  if (tag == wanted) return true;
  tag = wanted;
  return false;
}

std::vector<uint32_t>& l2_of(int device) {
  std::vector<uint32_t>& tags = g_l2[device];
  if (tags.empty()) tags.resize(static_cast<std::size_t>(g_machine.l2_mb * 1024 * 1024 / kSector));
  return tags;
}

// Loads of one piece of text overlap; the next piece takes them to be used.
void use_loads(Fiber& fiber) {
  fiber.time += fiber.loading;
  fiber.loading = 0;
}

void work(Fiber& fiber, BlockMeter& meter, unsigned operations) {
  fiber.time += operations * g_machine.op_latency_cycles / g_machine.clock_ghz;
  if (fiber.segment != meter.segment) {
    fiber.segment = meter.segment;
    fiber.operations = 0;
  }
  fiber.operations += operations;
  // A warp takes as long as its longest lane, and all of its lanes' slots.
  uint64_t& longest = meter.warp_operations[fiber.gpu->linear / 32 % 32];
  if (fiber.operations <= longest) return;
  meter.used.issue += static_cast<double>(fiber.operations - longest) * 32 * meter.price.issue;
  longest = fiber.operations;
}

void move(BlockMeter& meter, Fiber& fiber, const void* p, uintptr_t sector, int device,
          bool write) {
  const Machine& m = g_machine;
  double latency = 0;
  const Space space = space_of(p);
  if (space == Space::Pinned) {
    meter.used.host_link += kSector * meter.price.host_link;
    latency = m.pcie_latency_ns;
  } else if (space == Space::Device && device_of(p) != device) {
    meter.used.link += kSector * meter.price.link;
    latency = m.nvlink_latency_ns;
  } else {
    meter.used.l2 += kSector * meter.price.l2;
    const bool near = hit(l2_of(device), sector);
    if (!near) meter.used.dram += kSector * meter.price.dram;
    latency = near ? m.l2_latency_ns : m.dram_latency_ns;
  }
  if (write) {
    meter.used.stores += kSector * meter.price.stores;
  } else {
    fiber.loading = std::max(fiber.loading, latency / m.loads_in_flight);
  }
}

// How often an address was changed: exactly for as many as there is room for. Those beyond share
// counts, which makes them dearer and nothing cheaper: no address may hide another one's count.
uint32_t& changes_of(KernelMeter& kernel, uintptr_t address) {
  const auto known = kernel.atomics.find(address);
  if (known != kernel.atomics.end()) return known->second;
  if (kernel.atomics.size() < kExactAddresses) return kernel.atomics[address];
  if (kernel.further.empty()) kernel.further.resize(std::size_t{1} << kFurtherBits);
  return kernel.further[address * 0x9E3779B97F4A7C15 >> (64 - kFurtherBits)];
}

void finish_path(Fiber& fiber, BlockMeter& meter) {
  use_loads(fiber);
  const double bound = meter.segment_start + meter.used.longest();
  fiber.time = std::max(fiber.time, bound);
}

}  // namespace

double Usage::longest() const { return std::max({issue, l1, l2, dram, link, host_link}); }

void begin_kernel(Kernel& kernel) {
  kernel.meter = std::make_unique<KernelMeter>();
  KernelMeter& meter = *kernel.meter;
  meter.start = meter.end = kernel.start_time = kernel.op->begins;
  const unsigned room = blocks_per_sm(kernel) * at_least_one(g_machine.sm_count);
  const auto wanted = static_cast<unsigned>(std::min<uint64_t>(kernel.total_blocks, room));
  double taken = 0, freed = meter.start;
  std::vector<Running>& running = g_sharing[kernel.device];
  for (const Running& other : running) {
    if (!other.kernel && other.end <= meter.start) continue;
    taken += other.fraction;
    if (!other.kernel) freed = std::max(freed, other.end);
  }
  meter.resident = room;
  meter.fraction = static_cast<double>(wanted) / room;
  meter.others = std::min(taken, 1.0);
  const unsigned now_free =
      std::clamp(static_cast<unsigned>(std::max(0.0, 1 - taken) * room), 1u, wanted);
  for (unsigned i = 0; i < wanted; i++) meter.slots.push(i < now_free ? meter.start : freed);
  std::erase_if(running, [&](const Running& r) { return !r.kernel && r.end <= meter.start; });
  running.push_back({&kernel, meter.start, 0, meter.fraction});
}

void begin_block(Block& block) {
  Kernel& kernel = *block.kernel;
  block.meter = std::make_unique<BlockMeter>();
  BlockMeter& meter = *block.meter;
  auto& slots = kernel.meter->slots;
  meter.start = slots.empty() ? std::max(kernel.meter->start, time_now()) : slots.top();
  if (!slots.empty()) slots.pop();
  const Machine& m = g_machine;
  const double dispatched = kernel.meter->start + m.kernel_start_ns +
                            static_cast<double>(block.number) * m.block_dispatch_ns;
  meter.start = std::max(meter.start, dispatched);
  meter.segment_start = meter.end = meter.start;
  meter.price = prices(kernel, std::max(1u, beside(kernel, block.number)));
  meter.read = take_set();
  meter.written = take_set();
}

void begin_thread(Block& block) {
  Fiber& fiber = *g_current;
  fiber.time = block.meter->start;
  fiber.waited = fiber.communicated = fiber.loading = 0;
  fiber.segment = block.meter->segment;
  fiber.operations = 0;
}

void end_thread(Block& block) {
  Fiber& fiber = *g_current;
  BlockMeter& meter = *block.meter;
  use_loads(fiber);
  if (fiber.time >= meter.end) {
    meter.end = fiber.time;
    meter.waited = fiber.waited;
    meter.communicated = fiber.communicated;
  }
}

void end_block(Block& block) {
  KernelMeter& kernel = *block.kernel->meter;
  BlockMeter& meter = *block.meter;
  meter.end = std::max(meter.end + meter.used.stores, meter.segment_start + meter.used.longest());
  kernel.slots.push(meter.end);
  std::size_t& shared = g_shared_used[block.kernel->name];
  shared = std::max(shared, block.shared_used - std::min(block.shared_used, kSharedReserved));
  if (meter.end >= kernel.end) {
    kernel.end = meter.end;
    kernel.waited = meter.waited;
    kernel.communicated = meter.communicated;
  }
  g_unused_sets.push_back(meter.read);
  g_unused_sets.push_back(meter.written);
}

void end_kernel(Kernel& kernel) {
  KernelMeter& meter = *kernel.meter;
  meter.end = std::max(meter.end, meter.start + meter.hottest * g_machine.atomic_ns);
  kernel.op->ends = meter.end;
  for (Running& running : g_sharing[kernel.device]) {
    if (running.kernel != &kernel) continue;
    running.kernel = nullptr;
    running.end = meter.end;
  }
  add_span({SpanKind::Kernel, kernel.op->rank, kernel.op->stream, kernel.name, meter.start,
            meter.end, meter.waited, meter.communicated});
}

double block_barrier_ns(unsigned threads) {
  const Machine& m = g_machine;
  return (m.barrier_cycles + (threads + 31) / 32 * m.barrier_warp_cycles) / m.clock_ghz;
}

void meet_threads(const std::vector<Fiber*>& waiting, double cost) {
  use_loads(*g_current);
  for (Fiber* fiber : waiting) use_loads(*fiber);
  Fiber* latest = g_current;
  for (Fiber* fiber : waiting) {
    if (fiber->time > latest->time) latest = fiber;
  }
  const double time = latest->time + cost;
  const double waited = latest->waited, communicated = latest->communicated;
  const auto take = [&](Fiber& fiber) {
    fiber.time = time;
    fiber.waited = waited;
    fiber.communicated = communicated;
  };
  for (Fiber* fiber : waiting) take(*fiber);
  take(*g_current);
}

void meet_block(Block& block, const std::vector<Fiber*>& waiting) {
  BlockMeter& meter = *block.meter;
  finish_path(*g_current, meter);
  meet_threads(waiting, meter.used.stores + block_barrier_ns(threads_of(*block.kernel)));
  meter.segment_start = g_current->time;
  meter.segment++;
  meter.used = {};
  std::fill(std::begin(meter.warp_operations), std::end(meter.warp_operations), 0);
}

void meet_grid(Kernel& kernel) {
  std::vector<Fiber*> all;
  for (auto& block : kernel.resident) {
    all.insert(all.end(), block->grid_barrier.waiting.begin(), block->grid_barrier.waiting.end());
    for (Fiber* fiber : block->grid_barrier.waiting) finish_path(*fiber, *block->meter);
  }
  finish_path(*g_current, *g_current->block->meter);
  meet_threads(all, g_machine.grid_sync_ns);
  for (auto& block : kernel.resident) {
    block->meter->segment_start = g_current->time;
    block->meter->segment++;
    block->meter->used = {};
  }
}

void meter_access(const void* p, std::size_t bytes, bool write) {
  Fiber& fiber = *g_current;
  Block& block = *fiber.gpu->block;
  BlockMeter& meter = *block.meter;
  const Machine& m = g_machine;
  work(fiber, meter, 1);
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (space_of(p) == Space::Shared) {
    meter.used.l1 += static_cast<double>(bytes) * meter.price.l1;
    if (!write) fiber.time += m.shared_latency_ns / m.near_loads_in_flight;
    return;
  }
  if (!in_arena(p)) {
    const Variable* variable = find_variable(p);
    if (!variable || (variable->cached && !write)) return;
  }
  meter.used.l1 += static_cast<double>(bytes) * meter.price.l1;
  for (uintptr_t s = address / kSector; s <= (address + bytes - 1) / kSector; s++) {
    if (hit(write ? *meter.written : *meter.read, s)) {
      if (!write) fiber.time += m.l1_latency_ns / m.near_loads_in_flight;
      continue;
    }
    move(meter, fiber, p, s, block.kernel->device, write);
  }
}

void meter_atomic(const void* p, unsigned bytes, bool reads, bool writes) {
  Fiber& fiber = *g_current;
  Block& block = *fiber.gpu->block;
  BlockMeter& meter = *block.meter;
  const Machine& m = g_machine;
  work(fiber, meter, 1);
  if (space_of(p) == Space::Shared) {
    meter.used.l1 += bytes * meter.price.l1;
    if (reads) fiber.time += m.shared_latency_ns;
    return;
  }
  const bool remote = space_of(p) == Space::Device && device_of(p) != block.kernel->device;
  if (remote) {
    meter.used.link += kSector * meter.price.link;
  } else {
    meter.used.l2 += kSector * meter.price.l2;
  }
  if (reads) {
    const double latency = remote ? m.nvlink_latency_ns : m.l2_latency_ns;
    fiber.loading = std::max(fiber.loading, latency / m.loads_in_flight);
  }
  if (!reads || !writes) return;
  KernelMeter& kernel = *block.kernel->meter;
  const uint32_t changes = ++changes_of(kernel, reinterpret_cast<uintptr_t>(p));
  kernel.hottest = std::max(kernel.hottest, changes);
}

void settle_work() {
  if (!g_timed || !g_current || !g_current->gpu) return;
  finish_path(*g_current, *g_current->gpu->block->meter);
}

// Operations of the program, as the rewriter counted them in its text.
void count_operations(unsigned operations) {
  if (!g_timed || !g_current) return;
  if (!g_current->gpu) {
    g_host_work += operations;
    return;
  }
  use_loads(*g_current);
  work(*g_current, *g_current->gpu->block->meter, operations);
}

}  // namespace warploom
