// What a GPU thread's own way takes: latencies of its operations and loads. Used by the meter only.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "metering/meter.h"
#include "timing/timing.h"

namespace warploom {

// Loads that a thread has on their way at once where nvcc unrolls a loop, or copies an aggregate.
constexpr double kLoadsTogether = 10;

// Loads of one piece of text overlap; the next piece takes them to be used.
void use_loads(Fiber& fiber);
// A load that need not go far.
void load_near(Fiber& fiber, double latency);
// All that the running thread has begun is done, and it is no earlier than what its block allows.
void finish_path(Fiber& fiber, BlockMeter& meter);

// Behind a barrier of the block, threads begin to count anew.
inline void enter_segment(Fiber& fiber, const BlockMeter& meter) {
  if (fiber.segment == meter.segment) return;
  fiber.segment = meter.segment;
  fiber.operations = fiber.loads = 0;
}

inline void work(Fiber& fiber, BlockMeter& meter, unsigned operations, bool waits = true) {
  if (waits) fiber.time += operations * g_machine.op_latency_cycles / g_machine.clock_ghz;
  enter_segment(fiber, meter);
  fiber.operations += operations;
  // A warp takes as long as its longest lane, and all of its lanes' slots.
  uint64_t& longest = meter.warp_operations[fiber.gpu->linear / 32 % 32];
  if (fiber.operations <= longest) return;
  meter.used.issue += static_cast<double>(fiber.operations - longest) * 32 * meter.price.issue;
  longest = fiber.operations;
}

// The caches of a block: its own, to be given back.
SectorSet* take_set();
void give_back(SectorSet* set);
void forget_sectors(SectorSet& set);

}  // namespace warploom
