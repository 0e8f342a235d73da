// Ends a run shortly before the driver (core/process.py) would end it from outside: that could not
// say where the program was.
#include "report/time_limit.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "machine/world.h"
#include "report/crash.h"
#include "report/report.h"

namespace warploom {

namespace {

volatile sig_atomic_t g_whole_entries = 0, g_over_time = 0;

// The program ran for too long. The place is where it happens to be: usually inside of its loop.
[[noreturn]] void end_at_limit(const Frames& where) {
  FindingInfo info{.kind = kinds::timeout, .message = "", .hint = ""};
  info.message = format("the program must end within %g s, but did not", g_config.time_limit);
  info.hint = "look for a loop that never ends, or raise the time limit";
  if (g_current) {
    info.message += "; it is here";
    info.where = where;
  }
  report_finding(std::move(info));
  finish_run("timeout");
}

void on_time_limit(int, siginfo_t*, void* context) {
  if (g_whole_entries) {
    g_over_time = 1;
    return;
  }
  end_at_limit(g_current ? interrupted_frames(*static_cast<ucontext_t*>(context)) : Frames{});
}

}  // namespace

WholeEntry::WholeEntry() { g_whole_entries = g_whole_entries + 1; }

WholeEntry::~WholeEntry() {
  g_whole_entries = g_whole_entries - 1;
  if (g_whole_entries || !g_over_time) return;
  g_over_time = 0;
  end_at_limit(capture_frames());
}

void start_time_limit(double seconds) {
  if (seconds <= 0) return;
  struct sigaction action{};
  action.sa_sigaction = on_time_limit;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  sigaction(SIGALRM, &action, nullptr);
  seconds -= std::min(1.0, seconds / 10);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace warploom
