// Queries and looks at memory that find work unfinished. A program may ask a few times, or some ten
// thousand times, and go on regardless: so in some schedules nobody gets on meanwhile. Who asks for
// ever gets an answer all the same, soon.
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/polling.h"
#include "kernels/kernel.h"
#include "machine/virtual_time.h"
#include "machine/world.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr uint64_t kInLazy = 1 << 16, kAllInLazy = 1 << 19;
uint64_t g_left_in_all = kAllInLazy;  // for Lateness
constexpr unsigned kLongestAtRandom = 20;
constexpr uint64_t kAllAtRandom = 1 << 20;
// Who looks at a clock meanwhile may give up after some time, as nobody does so soon.
constexpr double kLongest = 5e8;
// Threads of devices are many, and look at memory more often.
constexpr uint64_t kOnDevice = 1 << 15, kAllOnDevice = 1 << 18;

// What a thread asks for, and how often it will find that unfinished at once.
struct Asked {
  const void* what = nullptr;
  uint32_t kernel = 0;
  uint64_t left = 0;
  double since = 0;
};

uint64_t times_unready(bool on_device) {
  if (g_config.timing == NetTiming::Lazy) return on_device ? kOnDevice : kInLazy;
  if (!random_schedule() || random_below(2)) return 0;
  const uint64_t times = uint64_t{1} << random_below(kLongestAtRandom + 1);
  return on_device ? std::min(times, kOnDevice) : times;
}

}  // namespace

bool stays_unready(const void* what) {
  static uint64_t left_for_host = g_config.timing == NetTiming::Lazy ? kAllInLazy : kAllAtRandom;
  static uint64_t left_on_device = kAllOnDevice;
  static std::unordered_map<const void*, Asked> all_asked;
  if (g_timed || !g_current || g_config.timing == NetTiming::Eager) return false;
  const bool on_device = g_current->gpu != nullptr;
  uint64_t& left_in_all = on_device ? left_on_device : left_for_host;
  if (!left_in_all) return false;
  const void* who = g_current->host;
  if (on_device) who = g_current;
  const uint32_t kernel = on_device ? g_current->block->kernel->number : 0;
  Asked& asked = all_asked[who];
  if (asked.what != what || asked.kernel != kernel) {
    asked = {what, kernel, times_unready(on_device), virtual_ns()};
  }
  if (!asked.left || virtual_ns() > asked.since + kLongest) return false;
  asked.left--;
  left_in_all--;
  return true;
}

// Who asks often for many things spends what others have left, but for a few times each.
bool Lateness::hides() {
  constexpr uint64_t kLeast = 64, kLeastAtFirst = 1024, kFirst = 1024;
  static uint64_t asked = 0;
  if (g_timed || !g_current || g_config.timing == NetTiming::Eager) return false;
  if (!left_) {
    const uint64_t least = asked++ < kFirst ? kLeastAtFirst : kLeast;
    const uint64_t most = std::max(least, std::min(kInLazy, g_left_in_all / 8));
    left_ = std::min(times_unready(false), most);
    g_left_in_all -= std::min(g_left_in_all, *left_);
    since_ = virtual_ns();
  }
  if (!*left_ || virtual_ns() > since_ + kLongest) return false;
  --*left_;
  return true;
}

void Lateness::end() {
  if (left_) g_left_in_all += *left_;
  left_ = 0;
}

void let_finish(const std::function<bool()>& done) {
  if (g_timed || g_config.timing != NetTiming::Eager) return;
  for (uint64_t before = g_progress - 1; !done() && before != g_progress;) {
    before = g_progress;
    poll_current();
  }
}

void poll_unready(const void* what) {
  if (!stays_unready(what)) poll_current();
}

}  // namespace warploom
