// Queries that find work unfinished. A program may ask a few times, or some ten thousand times, and
// go on regardless: so in some schedules nobody gets on meanwhile. Who asks for ever gets an answer
// all the same, soon.
#include <cstdint>
#include <unordered_map>

#include "base/polling.h"
#include "machine/virtual_time.h"
#include "machine/world.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr uint64_t kInLazy = 1 << 14, kAllInLazy = 1 << 17;
constexpr unsigned kLongestAtRandom = 20;
constexpr uint64_t kAllAtRandom = 1 << 20;
// Who looks at a clock meanwhile may give up after some time, as nobody does so soon.
constexpr double kLongest = 1e8;

// What a host thread asks for, and how often it will find that unfinished at once.
struct Asked {
  const void* what = nullptr;
  uint64_t left = 0;
  double since = 0;
};

uint64_t times_unready() {
  if (g_config.timing == NetTiming::Lazy) return kInLazy;
  if (!random_schedule() || random_below(2)) return 0;
  return uint64_t{1} << random_below(kLongestAtRandom + 1);
}

bool stays_unready(const void* what) {
  static uint64_t left_in_all = g_config.timing == NetTiming::Lazy ? kAllInLazy : kAllAtRandom;
  static std::unordered_map<const HostThread*, Asked> all_asked;
  if (g_timed || !g_current || !g_current->host || !left_in_all) return false;
  Asked& asked = all_asked[g_current->host];
  if (asked.what != what) asked = {what, times_unready(), virtual_ns()};
  if (!asked.left || virtual_ns() > asked.since + kLongest) return false;
  asked.left--;
  left_in_all--;
  return true;
}

}  // namespace

void poll_unready(const void* what) {
  if (!stays_unready(what)) poll_current();
}

}  // namespace warploom
