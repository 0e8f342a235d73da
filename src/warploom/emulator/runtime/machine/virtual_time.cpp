#include "machine/virtual_time.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "../../include/warploom/device.h"
#include "base/mix_bits.h"
#include "base/stats.h"
#include "behavior/iterations.h"
#include "machine/world_setup.h"
#include "memory/memory.h"
#include "metering/meter.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom {

namespace {

double g_slept = 0;

// One of 2^20 values for each seed, evenly from 0 to 1.
double drawn(uint64_t salt) {
  const uint64_t bits = mix_bits(g_config.seed * 0x9E3779B97F4A7C15 + salt);
  return static_cast<double>(bits >> 44) / (1 << 20);
}

// A loop that only reads clocks is there to pass time: its steps become longer.
void pass_step() {
  static unsigned long long accesses = 0;
  static double step = 1;
  step = accesses == accesses_made() ? std::min(step * 1.125, 1e6) : 1;
  accesses = accesses_made();
  g_slept += step;
}

}  // namespace

double shown_span(double nanoseconds) {
  static const double pace = g_config.seed == 0 ? 1 : 0.9 + 0.2 * drawn(1);
  return nanoseconds * pace;
}

double shown_interval(double nanoseconds) {
  constexpr double kLeast = 4, kMost = 24;  // powers of two
  static const bool slow = !g_timed && g_config.seed != 0 && random_schedule();
  static const double factor = slow ? std::exp2(kLeast + (kMost - kLeast) * drawn(3)) : 1;
  return shown_span(nanoseconds) * factor;
}

double shown_ns(double nanoseconds) {
  static const double start = g_config.seed == 0 ? 0 : 1e12 * drawn(2);
  return start + shown_span(nanoseconds);
}

double nanoseconds_until(const timespec& moment) {
  const double now = shown_ns(virtual_ns());
  return 1e9 * static_cast<double>(moment.tv_sec - kEpoch) + static_cast<double>(moment.tv_nsec) -
         now;
}

double host_clock_ns() {
  if (!g_timed) pass_step();
  return shown_ns(virtual_ns());
}

double virtual_ns() {
  if (g_timed) return time_now();
  const Stats& s = g_stats;
  const unsigned long long moved = s.host_bytes + s.copied_bytes + s.staged_bytes + s.mpi_bytes;
  return g_slept + static_cast<double>(accesses_made()) + 5.0 * static_cast<double>(s.threads) +
         2000.0 * static_cast<double>(s.kernels) +
         1000.0 * static_cast<double>(s.puts + s.stream_ops) + 0.01 * static_cast<double>(moved);
}

void let_time_pass(double moment) {
  if (g_timed) return reach(moment);
  g_slept += std::max(0.0, moment - virtual_ns());
}

void pass_time(double nanoseconds) {
  if (g_timed && g_current) {
    advance(nanoseconds);
    return take_turn();
  }
  g_slept += nanoseconds;
  if (g_current) poll_current();
}

long long device_clock() {
  if (g_timed) {
    settle_work();
    advance(g_machine.op_latency_cycles / g_machine.clock_ghz);
    return static_cast<long long>(shown_ns(time_now()) * g_machine.clock_ghz);
  }
  pass_step();
  return static_cast<long long>(shown_ns(virtual_ns()));
}
unsigned long long global_timer() {
  const long long cycles = device_clock();
  return static_cast<unsigned long long>(g_timed ? shown_ns(time_now())
                                                 : static_cast<double>(cycles));
}

}  // namespace warploom

void __nanosleep(unsigned nanoseconds) { warploom::pass_time(nanoseconds); }
unsigned __isShared(const void* p) { return warploom::space_of(p) == warploom::Space::Shared; }
unsigned __isLocal(const void* p) { return warploom::in_gpu_stack(p); }
// All that is in no window: variables of devices, constant tables and texts as well.
unsigned __isGlobal(const void* p) { return !__isShared(p) && !__isLocal(p); }

// The program's sleeps must not stop the whole machine.
extern "C" {
// The program's clocks (std::chrono's among them) show the time inside of the emulated machine.
int clock_gettime(clockid_t id, timespec* now) noexcept {
  if (!warploom::g_current) return static_cast<int>(syscall(SYS_clock_gettime, id, now));
  warploom::note_clock();
  const auto nanoseconds = static_cast<long long>(warploom::host_clock_ns());
  *now = {warploom::kEpoch + nanoseconds / 1000000000, nanoseconds % 1000000000};
  return 0;
}
int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int failed = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return failed;
}
// Programs seed generators with these: a run is a function of its options only where they are.
time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int timespec_get(timespec* out, int base) noexcept {
  if (base != TIME_UTC) return 0;
  clock_gettime(CLOCK_REALTIME, out);
  return base;
}
clock_t times(tms* used) noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long second = sysconf(_SC_CLK_TCK);
  const clock_t ticks = now.tv_sec * second + now.tv_nsec / (1000000000 / second);
  if (used) *used = {.tms_utime = ticks, .tms_stime = 0, .tms_cutime = 0, .tms_cstime = 0};
  return ticks;
}
int getrusage(__rusage_who_t who, rusage* used) noexcept {
  const long failed = syscall(SYS_getrusage, who, used);
  if (failed || !warploom::g_current) return static_cast<int>(failed);
  gettimeofday(&used->ru_utime, nullptr);
  used->ru_utime.tv_sec -= warploom::kEpoch;
  used->ru_stime = {};
  return 0;
}
int sysinfo(struct sysinfo* info) noexcept {
  const long failed = syscall(SYS_sysinfo, info);
  if (failed || !warploom::g_current) return static_cast<int>(failed);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  info->uptime = now.tv_sec - warploom::kEpoch;
  return 0;
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
