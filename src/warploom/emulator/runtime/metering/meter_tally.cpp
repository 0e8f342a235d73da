#include "metering/meter_tally.h"

#include <sys/mman.h>

#include <cstdio>
#include <utility>

#include "base/stats.h"
#include "report/report.h"
#include "schedule/fiber.h"
#include "timing/meter_threads.h"

namespace warploom {

namespace {

uint64_t g_seen = 0;  // of the counter

constexpr unsigned kHalves = 2;  // the guard counts halves of slots

uint64_t counter() { return *reinterpret_cast<const volatile uint64_t*>(kTallyPlace); }

}  // namespace

void map_tally() {
  void* const place = reinterpret_cast<void*>(kTallyPlace);
  constexpr int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (mmap(place, 4096, PROT_READ | PROT_WRITE, kind, -1, 0) != place) {
    std::fprintf(stderr, "warploom-emu: there is no room for the counter of arithmetic\n");
    stop_run();
  }
}

void take_tally(Fiber& fiber) {
  const uint64_t now = counter();
  fiber.tallied += now - std::exchange(g_seen, now);
}

unsigned long long settled_tally(Fiber& fiber) { return std::exchange(fiber.tallied, 0) / kHalves; }

unsigned long long host_tally() {
  take_tally(*g_current);
  return settled_tally(*g_current);
}

void begin_tally(Fiber& fiber) {
  g_seen = counter();
  fiber.tallied = fiber.told = 0;
}

void price_tally(Fiber& fiber, BlockMeter& meter) {
  if (&fiber == g_current) take_tally(fiber);
  const uint64_t done = fiber.tallied / kHalves;
  if (done <= fiber.told) return;
  const uint64_t more = done - fiber.told;
  fiber.told = done;
  g_stats.untold_operations += more;
  work(fiber, meter, static_cast<unsigned>(more));
}

}  // namespace warploom
