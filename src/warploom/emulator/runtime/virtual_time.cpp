#include "virtual_time.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "../include/warploom/device.h"
#include "memory.h"
#include "scheduler.h"
#include "stats.h"
#include "world_setup.h"

namespace warploom {

namespace {
double g_slept = 0;
}

double virtual_ns() {
  const Stats& s = g_stats;
  return g_slept + static_cast<double>(s.accesses) + 5.0 * static_cast<double>(s.threads) +
         2000.0 * static_cast<double>(s.kernels) + 1000.0 * static_cast<double>(s.puts);
}

void pass_time(double nanoseconds) {
  g_slept += nanoseconds;
  if (g_current) poll_current();
}

// A loop that only reads the clock is there to pass time: its steps become longer.
long long device_clock() {
  static unsigned long long accesses = 0;
  static double step = 1;
  step = accesses == g_stats.accesses ? std::min(step * 1.125, 1e6) : 1;
  accesses = g_stats.accesses;
  g_slept += step;
  return static_cast<long long>(virtual_ns());
}
unsigned long long global_timer() { return static_cast<unsigned long long>(device_clock()); }

}  // namespace warploom

void __nanosleep(unsigned nanoseconds) { warploom::pass_time(nanoseconds); }
unsigned __isGlobal(const void* p) { return warploom::space_of(p) == warploom::Space::Device; }
unsigned __isShared(const void* p) { return warploom::space_of(p) == warploom::Space::Shared; }
unsigned __isLocal(const void* p) { return warploom::in_gpu_stack(p); }

// The program's sleeps must not stop the whole machine.
extern "C" {
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
