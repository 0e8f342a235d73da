#include "virtual_time.h"

#include <unistd.h>
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

long long device_clock() {
  g_slept += 1;
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
