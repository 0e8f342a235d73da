#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "metering/meter.h"
#include "timing/meter_threads.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr unsigned kLoadedLine = 128;  // bytes that the L1 cache passes on at a time
constexpr std::size_t kKnownLoads = std::size_t{1} << 15;  // of each warp, between two meetings
constexpr std::size_t kWidest = 16;                        // bytes of one load or store of a thread
constexpr unsigned kSector = 32;  // bytes that move at a time between caches and memory
constexpr std::size_t kExactAddresses = std::size_t{1} << 18;  // of atomics of one kernel
constexpr unsigned kFurtherBits = 16;

std::map<int, std::vector<uint32_t>> g_l2;  // tags, by device
std::vector<std::unique_ptr<SectorSet>> g_sector_sets;
std::vector<SectorSet*> g_unused_sets;
uint64_t g_owners = 0;

// Where something lies, for the caches. The addresses themselves differ from run to run, where the
// operating system has something else at those that were drawn (layout.h).
uintptr_t metered_place(const void* p) {
  // Behind what a device uses of its addresses, also where a tag has only the lower ones.
  constexpr uintptr_t kOfVariables = (uintptr_t{1} << 46) + kMostOfDevice;
  constexpr uintptr_t kOfRank = uintptr_t{1} << 25;
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (in_arena(p)) return address - g_places.arena;
  const Process& process = *g_current->process;
  return kOfVariables + static_cast<uintptr_t>(process.rank) * kOfRank + address - process.base;
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

// Lanes of a warp that touch one line do so together. They run one after another here, so each is
// compared with the lane before it, load by load; from too long a time the share so far is taken.
// Returns the bytes that pass for `bytes` bytes in the lines from `first` to `last`.
double passed_bytes(Fiber& fiber, BlockMeter& meter, uint32_t first, uint32_t last,
                    std::size_t bytes) {
  enter_segment(fiber, meter);
  std::vector<uint32_t>& before = meter.lines[fiber.gpu->linear / 32 % 32];
  double passed = 0;
  for (uint32_t line = first; line != last + 1; line++) {
    const uint32_t at = fiber.loads++;
    if (at >= kKnownLoads) {
      passed += static_cast<double>(bytes) * meter.passed / std::max(1.0, meter.loaded);
    } else if (at >= before.size()) {
      before.push_back(line);
      passed += kLoadedLine;
    } else if (std::exchange(before[at], line) != line) {
      passed += kLoadedLine;
    }
  }
  meter.loaded += static_cast<double>(bytes);
  meter.passed += passed;
  return passed;
}

void pass_lines(Fiber& fiber, BlockMeter& meter, uintptr_t address, std::size_t bytes) {
  const auto first = static_cast<uint32_t>(address / kLoadedLine);
  const auto last = static_cast<uint32_t>((address + bytes - 1) / kLoadedLine);
  meter.used.l1 += passed_bytes(fiber, meter, first, last, bytes) * meter.price.l1;
}

// The constant cache gives all lanes of a warp one word at a time: what the first lane of them
// loads is free, as an operand is, and each other word takes a turn of its own.
void pass_constants(Fiber& fiber, BlockMeter& meter, uintptr_t address, std::size_t bytes) {
  constexpr uint32_t kConstant = uint32_t{1} << 31;
  enter_segment(fiber, meter);
  std::vector<uint32_t>& before = meter.lines[fiber.gpu->linear / 32 % 32];
  const uint32_t at = fiber.loads++;
  const uint32_t name = static_cast<uint32_t>(address / 4) | kConstant;
  double turns = 0;
  if (at >= kKnownLoads) {
    turns = meter.constants > 0 ? meter.constant_turns / meter.constants : 1;
  } else if (at >= before.size()) {
    before.push_back(name);
  } else if (std::exchange(before[at], name) != name) {
    turns = static_cast<double>((bytes + 3) / 4);
  }
  if (turns > 0) load_near(fiber, g_machine.l1_latency_ns);
  meter.constants++;
  meter.constant_turns += turns;
  meter.used.l1 += turns * kLoadedLine * meter.price.l1;
}

// Has a block loaded the sector that runs beside this one?
bool is_beside(KernelMeter& kernel, const BlockMeter& meter, uintptr_t sector) {
  const bool beside = meter.beside && hit(*meter.beside, sector);
  kernel.loads++;
  kernel.loads_alone += !beside;
  return beside;
}

void move(const Kernel& kernel, BlockMeter& meter, Fiber& fiber, const void* p, uintptr_t sector,
          bool write) {
  const Machine& m = g_machine;
  const int device = kernel.device;
  Traffic& moved = kernel.meter->moved;
  double latency = 0;
  const Space space = space_of(p);
  if (space == Space::Pinned) {
    meter.used.host_link += kSector * meter.price.host_link;
    moved.host_link += kSector;
    latency = m.pcie_latency_ns;
  } else if (space == Space::Device && device_of(p) != device) {
    meter.used.link += kSector * meter.price.link;
    moved.link += kSector;
    latency = m.nvlink_latency_ns;
  } else {
    // Blocks that load a sector together share its price, whoever was first.
    meter.used.l2 += kSector * meter.price.l2 * (write ? 1 : kernel.meter->alone);
    if (!write && is_beside(*kernel.meter, meter, sector)) {
      fiber.loading = std::max(fiber.loading, m.l2_latency_ns / m.loads_in_flight);
      return;  // it is on its way
    }
    moved.l2 += kSector;
    const bool near = hit(l2_of(device), sector);
    if (!near) {
      meter.used.dram += kSector * meter.price.dram;
      moved.dram += kSector;
    }
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

// One load or store of a thread, of at most as many bytes as an instruction takes.
void meter_instruction(Fiber& fiber, const void* p, std::size_t bytes, bool write) {
  Block& block = *fiber.gpu->block;
  BlockMeter& meter = *block.meter;
  const Machine& m = g_machine;
  work(fiber, meter, 1, write || !fiber.unrolled);
  if (space_of(p) == Space::Shared) {
    meter.used.l1 += static_cast<double>(bytes) * meter.price.l1;
    if (!write) load_near(fiber, m.shared_latency_ns);
    return;
  }
  if (!in_arena(p)) {
    const Variable* variable = find_variable(p);
    if (!variable) return;
    if (variable->cached && !write) return pass_constants(fiber, meter, metered_place(p), bytes);
  }
  const uintptr_t address = metered_place(p);
  fiber.iteration_loads += !write;
  if (write) {
    meter.used.l1 += static_cast<double>(bytes) * meter.price.l1;
  } else {
    pass_lines(fiber, meter, address, bytes);
  }
  for (uintptr_t s = address / kSector; s <= (address + bytes - 1) / kSector; s++) {
    if (hit(write ? *meter.written : *meter.read, s)) {
      if (!write) load_near(fiber, m.l1_latency_ns);
      continue;
    }
    move(*block.kernel, meter, fiber, p, s, write);
  }
}

}  // namespace

SectorSet* take_set() {
  if (g_unused_sets.empty()) {
    g_sector_sets.push_back(std::make_unique<SectorSet>());
    g_unused_sets.push_back(g_sector_sets.back().get());
  }
  SectorSet* set = g_unused_sets.back();
  g_unused_sets.pop_back();
  forget_sectors(*set);
  return set;
}

void give_back(SectorSet* set) { g_unused_sets.push_back(set); }
void forget_sectors(SectorSet& set) { set.owner = ++g_owners << 44; }

// An aggregate, or what memcpy moves, is many instructions: of as many loads as a thread has on
// their way at once, each lot waits for the one before.
void meter_access(const void* p, std::size_t bytes, bool write) {
  Fiber& fiber = *g_current;
  if (bytes <= kWidest) return meter_instruction(fiber, p, bytes, write);
  const auto* from = static_cast<const char*>(p);
  unsigned pieces = 0;
  for (std::size_t at = 0; at < bytes; at += kWidest) {
    meter_instruction(fiber, from + at, std::min(kWidest, bytes - at), write);
    if (++pieces % static_cast<unsigned>(kLoadsTogether) == 0) use_loads(fiber);
  }
}

// A thread's own variables are in registers, as far as there are any: 255 of four bytes (CUDA
// guide, compute capability 9.0). What it has beyond lies in local memory: the same word of all
// lanes makes a line, and what the first cache cannot hold of all threads' goes on to the second.
void meter_local(const void* p, std::size_t bytes, bool write) {
  constexpr std::size_t kRegisters = 255 * 4;
  constexpr uint32_t kLocal = uint32_t{1} << 30;
  Fiber& fiber = *g_current;
  const auto place = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(fiber.stack);
  const std::size_t held = fiber.local.touch(place, bytes);
  if (held <= kRegisters) return;
  const Machine& m = g_machine;
  BlockMeter& meter = *fiber.gpu->block->meter;
  work(fiber, meter, static_cast<unsigned>((bytes + kWidest - 1) / kWidest));
  const auto first = static_cast<uint32_t>(place / 4) | kLocal;
  const auto last = static_cast<uint32_t>((place + bytes - 1) / 4) | kLocal;
  const double passed = passed_bytes(fiber, meter, first, last, bytes);
  meter.used.l1 += passed * meter.price.l1;
  const double all = static_cast<double>(held) * meter.threads_beside;
  const double missing = passed * std::max(0.0, 1 - m.shared_per_sm_kb * 1024 / all);
  meter.used.l2 += missing * meter.price.l2;
  if (all * m.sm_count > m.l2_mb * 1024 * 1024) meter.used.dram += missing * meter.price.dram;
  if (write) {
    meter.used.stores += missing * meter.price.stores;
  } else {
    load_near(fiber, m.l1_latency_ns);
  }
}

void meter_atomic(const void* p, unsigned bytes, bool reads, bool writes) {
  Fiber& fiber = *g_current;
  Block& block = *fiber.gpu->block;
  BlockMeter& meter = *block.meter;
  const Machine& m = g_machine;
  fiber.unrolled = false;  // compilers move nothing across it
  work(fiber, meter, 1);
  if (space_of(p) == Space::Shared) {
    meter.used.l1 += bytes * meter.price.l1;
    if (reads) fiber.time += m.shared_latency_ns;
    return;
  }
  const bool remote = space_of(p) == Space::Device && device_of(p) != block.kernel->device;
  if (remote) {
    meter.told_far |= writes;
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
  const uint32_t changes = ++changes_of(kernel, metered_place(p));
  kernel.hottest = std::max(kernel.hottest, changes);
}

void meter_acquire() {
  Fiber& fiber = *g_current;
  use_loads(fiber);
  BlockMeter& meter = *fiber.gpu->block->meter;
  forget_sectors(*meter.read);
}

void meter_handles() {
  Fiber& fiber = *g_current;
  Block& block = *fiber.gpu->block;
  block.meter->knows_handles = true;
  // Blocks of later waves find them in the caches of their multiprocessor.
  if (block.number < block.kernel->meter->resident) fiber.time += g_machine.device_handle_ns;
}

void meter_descriptor(const void* memory) {
  constexpr unsigned kOperations = 6;  // a product of 64 bits and two sums
  // No place of a device's memory or of variables.
  constexpr uintptr_t kDescriptors = uintptr_t{1} << 43;
  if (!g_timed || !g_current || !g_current->gpu) return;
  Fiber& fiber = *g_current;
  BlockMeter& meter = *fiber.gpu->block->meter;
  work(fiber, meter, kOperations);
  if (!meter.knows_handles) meter_handles();
  fiber.iteration_loads++;
  const uintptr_t place = kDescriptors | metered_place(memory) / kSector;
  if (hit(*meter.read, place)) return load_near(fiber, g_machine.l1_latency_ns);
  fiber.loading = std::max(fiber.loading, g_machine.l2_latency_ns / g_machine.loads_in_flight);
}

double price_bulk(const void* from, const void* to, std::size_t bytes) {
  Fiber& fiber = *g_current;
  const Block& block = *fiber.gpu->block;
  BlockMeter& meter = *block.meter;
  use_loads(fiber);
  work(fiber, meter, 1);
  const Usage before = std::exchange(meter.used, {});
  for (const void* side : {from, to}) {
    if (space_of(side) == Space::Shared) {
      meter.used.l1 += static_cast<double>(bytes) * meter.price.l1;
      continue;
    }
    const uintptr_t first = metered_place(side) / kSector;
    for (uintptr_t s = first; s < first + (bytes + kSector - 1) / kSector; s++) {
      move(*block.kernel, meter, fiber, side, s, side == to);
    }
  }
  const Usage own = meter.used;
  meter.used += before;
  const double latency = std::exchange(fiber.loading, 0) * g_machine.loads_in_flight;
  return g_machine.shared_latency_ns + latency + own.longest() + own.stores;
}

}  // namespace warploom
