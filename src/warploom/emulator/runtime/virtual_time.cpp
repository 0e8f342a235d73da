#include "virtual_time.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "../include/warploom/device.h"
#include "memory.h"
#include "meter.h"
#include "scheduler.h"
#include "stats.h"
#include "timing.h"
#include "world_setup.h"

namespace warploom {

namespace {
double g_slept = 0;
}

double virtual_ns() {
  if (g_timed) return time_now();
  const Stats& s = g_stats;
  return g_slept + static_cast<double>(accesses_made()) + 5.0 * static_cast<double>(s.threads) +
         2000.0 * static_cast<double>(s.kernels) + 1000.0 * static_cast<double>(s.puts);
}

void pass_time(double nanoseconds) {
  if (g_timed && g_current) {
    advance(nanoseconds);
    return take_turn();
  }
  g_slept += nanoseconds;
  if (g_current) poll_current();
}

// A loop that only reads the clock is there to pass time: its steps become longer.
long long device_clock() {
  if (g_timed) {
    settle_work();
    advance(g_machine.op_latency_cycles / g_machine.clock_ghz);
    return static_cast<long long>(time_now() * g_machine.clock_ghz);
  }
  static unsigned long long accesses = 0;
  static double step = 1;
  step = accesses == accesses_made() ? std::min(step * 1.125, 1e6) : 1;
  accesses = accesses_made();
  g_slept += step;
  return static_cast<long long>(virtual_ns());
}
unsigned long long global_timer() {
  const long long cycles = device_clock();
  return static_cast<unsigned long long>(g_timed ? time_now() : static_cast<double>(cycles));
}

}  // namespace warploom

void __nanosleep(unsigned nanoseconds) { warploom::pass_time(nanoseconds); }
unsigned __isGlobal(const void* p) { return warploom::space_of(p) == warploom::Space::Device; }
unsigned __isShared(const void* p) { return warploom::space_of(p) == warploom::Space::Shared; }
unsigned __isLocal(const void* p) { return warploom::in_gpu_stack(p); }

// Modelled clocks begin at a fixed moment: 2025-01-01.
static constexpr time_t kEpoch = 1735689600;

// The program's sleeps must not stop the whole machine.
extern "C" {
// In a timed run the program's clocks (std::chrono's among them) show its modelled time.
int clock_gettime(clockid_t id, timespec* now) noexcept {
  if (!warploom::g_timed || !warploom::g_current) {
    return static_cast<int>(syscall(SYS_clock_gettime, id, now));
  }
  const auto nanoseconds = static_cast<long long>(warploom::time_now());
  *now = {kEpoch + nanoseconds / 1000000000, nanoseconds % 1000000000};
  return 0;
}
int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int failed = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return failed;
}
// In device code this is the clock of the multiprocessor.
clock_t clock() noexcept {
  if (warploom::on_device()) return static_cast<clock_t>(warploom::device_clock());
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / 1000;
}
int usleep(useconds_t microseconds) {
  warploom::pass_time(1e3 * microseconds);
  return 0;
}
unsigned sleep(unsigned seconds) {
  warploom::pass_time(1e9 * seconds);
  return 0;
}
int nanosleep(const timespec* duration, timespec*) {
  warploom::pass_time(1e9 * static_cast<double>(duration->tv_sec) +
                      static_cast<double>(duration->tv_nsec));
  return 0;
}
int clock_nanosleep(clockid_t, int, const timespec* duration, timespec* left) {
  return nanosleep(duration, left);
}
int sched_yield() noexcept {
  warploom::pass_time(100);
  return 0;
}
}
