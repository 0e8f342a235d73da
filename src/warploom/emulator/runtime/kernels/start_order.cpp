#include "kernels/start_order.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/flags.h"
#include "base/mix_bits.h"
#include "kernels/kernel.h"
#include "machine/world.h"

namespace warploom {

namespace {

// So many blocks of a kernel start late; what they can show, the rest shows no better.
constexpr unsigned kMostLate = 8;

// How often a rank has launched a kernel before. Its name is a constant of the program.
uint64_t launches_before(const Kernel& kernel) {
  static std::map<std::pair<int, const char*>, uint64_t> launches;
  return launches[{kernel.device, kernel.name}]++;
}

bool has_late_block(const Kernel* kernel) {
  return kernel->start.late && kernel->next_block < kernel->total_blocks &&
         kernel->resident.size() < kernel->residency;
}

}  // namespace

// A block that starts late finds what others have sent to those before it: a first look at a signal
// then counts in what has come already. No order puts each block behind all others, so launches
// take turns; of the ranks, one in two is late as a whole.
StartPlan plan_start(const Kernel& kernel) {
  if (g_timed || g_config.timing == NetTiming::Eager) return {};
  const uint64_t launch = launches_before(kernel);
  uint64_t way = launch + g_config.seed;
  if (random_schedule()) {
    way = mix_bits(g_config.seed * 0x9E3779B97F4A7C15 + launch) >> 62;
    if (way > 1) return {};
  }
  // Blocks that wait for one before them are right as long as all of them fit.
  const bool fit = kernel.total_blocks <= kernel.residency;
  const bool odd_rank = kernel.device % 2 != 0;
  return {.late = true, .first_late = odd_rank != (way % 2 != 0), .backwards = fit && way % 2};
}

bool late_blocks_wait() { return std::ranges::any_of(running_kernels(), has_late_block); }

bool start_late_block() {
  std::vector<Kernel*> waiting;
  std::ranges::copy_if(running_kernels(), std::back_inserter(waiting), has_late_block);
  if (waiting.empty()) return false;
  // All begin before one goes further.
  Kernel& kernel = **std::ranges::min_element(waiting, {}, &Kernel::next_block);
  kernel.start_block();
  kernel.start.late = kernel.next_block < kMostLate;
  // Those that are there wait, perhaps for one that has not started.
  kernel.window = static_cast<unsigned>(kernel.resident.size()) + Kernel::kWindow;
  kernel.activate_blocks();
  return true;
}

}  // namespace warploom
