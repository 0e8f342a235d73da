#include "metering/meter.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/stats.h"
#include "kernels/kernel.h"
#include "metering/meter_tally.h"
#include "timing/meter_threads.h"
#include "timing/timeline.h"
#include "timing/timing.h"

namespace warploom {

namespace {

// Kernels of a device, to share it between those that run at the same time.
struct Running {
  const Kernel* kernel;  // nullptr once it has ended
  double start, end, fraction;
  Traffic moves;  // in a nanosecond
};
std::map<int, std::vector<Running>> g_sharing;
std::map<std::string, std::size_t> g_shared_used;  // by kernel: known once a block has run
// What a kernel did when it ran last.
struct Past {
  Traffic moves;     // in a nanosecond
  double alone = 1;  // share of the sectors that its blocks loaded for themselves alone
};
std::map<std::string, Past> g_past;
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
  const KernelMeter& meter = *kernel.meter;
  const double on_sm = std::max(1.0, active / m.sm_count);
  const double ours = meter.fraction / (meter.fraction + meter.others);
  // What others leave, and never less than a fair share.
  const auto of = [&](double rate, double others) {
    return active / std::max(rate * ours, rate - others);
  };
  Usage price;
  price.issue = on_sm / (m.lanes_per_sm * m.clock_ghz);
  price.l1 = on_sm / (m.shared_bytes_per_cycle * m.clock_ghz);
  price.l2 = std::max(of(m.l2_gbs, meter.others_move.l2), on_sm / m.sm_gbs);
  price.stores = on_sm / m.sm_store_gbs;
  price.dram = std::max(of(m.dram_gbs, meter.others_move.dram), on_sm / m.sm_gbs);
  price.link = std::max(of(m.nvlink_gbs, meter.others_move.link), 1 / m.lsa_cta_gbs);
  price.host_link = of(m.pcie_gbs, meter.others_move.host_link);
  return price;
}

// What a kernel is expected to do: the same as the last time. One that has not run yet moves its
// share of all there is.
Past expected_of(const Kernel& kernel, double fraction) {
  const auto known = g_past.find(kernel.name);
  if (known != g_past.end()) return known->second;
  const Machine& m = g_machine;
  return {Traffic{m.l2_gbs, m.dram_gbs, m.nvlink_gbs, m.pcie_gbs}.times(fraction)};
}

double least_ns(const Traffic& moved) {
  const Machine& m = g_machine;
  return std::max({moved.l2 / m.l2_gbs, moved.dram / m.dram_gbs, moved.link / m.nvlink_gbs,
                   moved.host_link / m.pcie_gbs});
}

// Blocks of a multiprocessor do the same at about the same time, so that they load together what
// all of them need. Nobody knows which of an earlier wave's lines are left.
SectorSet* loaded_beside(Kernel& kernel, uint64_t number, unsigned active) {
  KernelMeter& meter = *kernel.meter;
  const auto count = at_least_one(g_machine.sm_count);
  if (active <= count) return nullptr;
  if (const uint64_t wave = number / meter.resident; wave != meter.wave) {
    meter.wave = wave;
    for (SectorSet* set : meter.loaded_by_sm) forget_sectors(*set);
  }
  while (meter.loaded_by_sm.size() < count) meter.loaded_by_sm.push_back(take_set());
  return meter.loaded_by_sm[number % meter.resident % count];
}

void begin_segment(BlockMeter& meter) {
  meter.segment++;
  meter.used = {};
  for (std::vector<uint32_t>& lines : meter.lines) lines.clear();
}

}  // namespace

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
    meter.others_move += other.moves;
    if (!other.kernel) freed = std::max(freed, other.end);
  }
  meter.resident = room;
  meter.fraction = static_cast<double>(wanted) / room;
  meter.others = std::min(taken, 1.0);
  const Past expected = expected_of(kernel, meter.fraction);
  meter.alone = expected.alone;
  const unsigned now_free =
      std::clamp(static_cast<unsigned>(std::max(0.0, 1 - taken) * room), 1u, wanted);
  for (unsigned i = 0; i < wanted; i++) meter.slots.push(i < now_free ? meter.start : freed);
  std::erase_if(running, [&](const Running& r) { return !r.kernel && r.end <= meter.start; });
  running.push_back({&kernel, meter.start, 0, meter.fraction, expected.moves});
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
  const unsigned active = std::max(1u, beside(kernel, block.number));
  meter.price = prices(kernel, active);
  meter.threads_beside = threads_of(kernel) * std::max(1.0, active / m.sm_count);
  meter.beside = loaded_beside(kernel, block.number, active);
  meter.read = take_set();
  meter.written = take_set();
}

void begin_thread(Block& block) {
  Fiber& fiber = *g_current;
  fiber.time = block.meter->start;
  fiber.waited = fiber.communicated = fiber.loading = 0;
  fiber.unrolled = false;
  fiber.overlapped = fiber.longest_load = 0;
  fiber.iteration_loads = 0;
  fiber.segment = block.meter->segment;
  fiber.operations = fiber.loads = 0;
  begin_tally(fiber);
  fiber.local.forget();
}

void end_thread(Block& block) {
  Fiber& fiber = *g_current;
  BlockMeter& meter = *block.meter;
  price_tally(fiber, meter);
  g_stats.tallied += fiber.tallied;
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
  if (meter.told_far) meter.end += g_machine.nvlink_latency_ns;
  kernel.slots.push(meter.end);
  std::size_t& shared = g_shared_used[block.kernel->name];
  shared = std::max(shared, block.shared_used - std::min(block.shared_used, kSharedReserved));
  if (meter.end >= kernel.end) {
    kernel.end = meter.end;
    kernel.waited = meter.waited;
    kernel.communicated = meter.communicated;
  }
  give_back(meter.read);
  give_back(meter.written);
}

void end_kernel(Kernel& kernel) {
  KernelMeter& meter = *kernel.meter;
  // Whatever it was expected to do: what it moved has passed the device.
  meter.end = std::max(meter.end, meter.start + g_machine.kernel_start_ns + least_ns(meter.moved));
  meter.end = std::max(meter.end, meter.start + meter.hottest * g_machine.atomic_ns);
  kernel.op->ends = meter.end;
  g_past[kernel.name] = {meter.moved.times(1 / std::max(1.0, meter.end - meter.start)),
                         meter.loads > 0 ? meter.loads_alone / meter.loads : 1};
  for (SectorSet* set : meter.loaded_by_sm) give_back(set);
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
  price_tally(*g_current, *g_current->gpu->block->meter);
  for (Fiber* fiber : waiting) price_tally(*fiber, *fiber->gpu->block->meter);
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

void meet_warp(const std::vector<Fiber*>& waiting) {
  meet_threads(waiting, g_machine.warp_op_ns);
  // What lanes load from here on, they load together again, whatever they did before.
  g_current->loads = 0;
  for (Fiber* fiber : waiting) fiber->loads = 0;
  const GpuThread& thread = *g_current->gpu;
  thread.block->meter->lines[thread.linear / 32 % 32].clear();
}

void meet_block(Block& block, const std::vector<Fiber*>& waiting) {
  BlockMeter& meter = *block.meter;
  finish_path(*g_current, meter);
  meet_threads(waiting, meter.used.stores + block_barrier_ns(threads_of(*block.kernel)));
  meter.segment_start = g_current->time;
  begin_segment(meter);
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
    begin_segment(*block->meter);
  }
}

}  // namespace warploom
