#include "timing/meter_threads.h"

#include <algorithm>

#include "../../include/warploom/device.h"
#include "base/stats.h"
#include "metering/meter_tally.h"

namespace warploom {

namespace {

// However short the loop was, one load takes its whole time.
void end_overlap(Fiber& fiber) {
  fiber.time += std::max(0.0, fiber.longest_load - fiber.overlapped);
  fiber.longest_load = fiber.overlapped = 0;
}

}  // namespace

void use_loads(Fiber& fiber) {
  if (fiber.unrolled) {
    fiber.longest_load = std::max(fiber.longest_load, fiber.loading);
    const uint32_t loads = std::exchange(fiber.iteration_loads, 0);
    fiber.loading /= std::max(1.0, kLoadsTogether / std::max(1u, loads));
    fiber.overlapped += fiber.loading;
  }
  fiber.time += fiber.loading;
  fiber.loading = 0;
}

void load_near(Fiber& fiber, double latency) {
  if (fiber.unrolled) {
    fiber.loading = std::max(fiber.loading, latency);
  } else {
    fiber.time += latency / g_machine.near_loads_in_flight;
  }
}

void finish_path(Fiber& fiber, BlockMeter& meter) {
  price_tally(fiber, meter);
  use_loads(fiber);
  const double bound = meter.segment_start + meter.used.longest();
  fiber.time = std::max(fiber.time, bound);
}

void settle_work() {
  if (!g_timed || !g_current || !g_current->gpu) return;
  finish_path(*g_current, *g_current->gpu->block->meter);
}

// Operations of the program, as the rewriter counted them in its text.
void count_operations(unsigned operations) {
  if (g_timed && g_current && g_current->gpu) use_loads(*g_current);
  count_within(operations);
}

void count_within(unsigned operations) {
  if (!g_current || !g_current->gpu) return;  // of hosts, instructions are counted
  g_stats.operations += operations;
  if (!g_timed) return;
  g_current->told += operations;
  work(*g_current, *g_current->gpu->block->meter, operations);
}

void count_iteration(unsigned operations) {
  if (g_timed && g_current && g_current->gpu) {
    use_loads(*g_current);
    g_current->unrolled = true;
  }
  count_within(operations);
}

void end_iterations() {
  if (!g_timed || !g_current || !g_current->gpu) return;
  use_loads(*g_current);
  g_current->unrolled = false;
  end_overlap(*g_current);
}

}  // namespace warploom
