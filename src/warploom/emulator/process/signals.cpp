// Signals: each process has handlers of its own, and only itself to send it any. No handler is ever
// the system's, which would interrupt whichever process has its turn.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "process.h"

namespace {

constexpr int kSignals = 65;
constexpr int kFirstPid = 2000;  // of rank 0; its parent, the launcher, is the one before

struct sigaction g_actions[kSignals];
sigset_t g_blocked, g_pending;
itimerval g_timer;
unsigned g_alarm = 0;

bool valid(int number) { return number > 0 && number < kSignals; }

int fail(int error) {
  errno = error;
  return -1;
}

bool ignored_by_default(int number) {
  switch (number) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return true;
    default:
      return false;
  }
}

void deliver(int number) {
  const struct sigaction action = g_actions[number];
  if (!(action.sa_flags & SA_SIGINFO)) {
    if (action.sa_handler == SIG_IGN) return;
    if (action.sa_handler == SIG_DFL) {
      if (ignored_by_default(number)) return;
      warploom_end_by_signal(number);
    }
  }
  if (action.sa_flags & SA_RESETHAND) g_actions[number].sa_handler = SIG_DFL;
  const sigset_t before = g_blocked;
  sigorset(&g_blocked, &before, &action.sa_mask);
  if (!(action.sa_flags & SA_NODEFER)) sigaddset(&g_blocked, number);
  if (action.sa_flags & SA_SIGINFO) {
    siginfo_t info{};
    info.si_signo = number;
    info.si_pid = getpid();
    warploom_process::checked(action.sa_sigaction)(number, &info, nullptr);
  } else {
    warploom_process::checked(action.sa_handler)(number);
  }
  g_blocked = before;
}

// What may be delivered now.
bool deliver_pending() {
  bool any = false;
  for (int number = 1; number < kSignals; number++) {
    if (!sigismember(&g_pending, number) || sigismember(&g_blocked, number)) continue;
    sigdelset(&g_pending, number);
    deliver(number);
    any = true;
  }
  return any;
}

void send(int number) {
  sigaddset(&g_pending, number);
  deliver_pending();
}

// Time does not run out by itself: an alarm rings when its process waits for signals only.
bool ring_alarm() {
  if (g_alarm) {
    g_alarm = 0;
    send(SIGALRM);
    return true;
  }
  if (g_timer.it_value.tv_sec || g_timer.it_value.tv_usec) {
    g_timer.it_value = g_timer.it_interval;
    send(SIGALRM);
    return true;
  }
  return false;
}

sighandler_t set_handler(int number, sighandler_t handler, int flags) {
  if (!valid(number) || number == SIGKILL || number == SIGSTOP) {
    errno = EINVAL;
    return SIG_ERR;
  }
  const sighandler_t before = g_actions[number].sa_handler;
  g_actions[number] = {};
  g_actions[number].sa_handler = handler;
  g_actions[number].sa_flags = flags;
  return before;
}

bool is_own(pid_t process) {
  return process == getpid() || process == 0 || process == -1 || process == -getpid();
}

}  // namespace

namespace warploom_process {

void abort_by_signal() {
  sigdelset(&g_blocked, SIGABRT);
  send(SIGABRT);
  warploom_end_by_signal(SIGABRT);
}

}  // namespace warploom_process

extern "C" {

pid_t getpid() noexcept { return kFirstPid + warploom_process_number(); }
pid_t getppid() noexcept { return kFirstPid - 1; }
pid_t getpgrp() noexcept { return kFirstPid - 1; }

sighandler_t signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, SA_RESTART);
}
sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, SA_RESTART);
}
sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}
sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  return set_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  if (!valid(number)) return fail(EINVAL);
  const struct sigaction old = g_actions[number];
  if (action) {
    if (number == SIGKILL || number == SIGSTOP) return fail(EINVAL);
    g_actions[number] = *action;
  }
  if (before) *before = old;
  return 0;
}
int siginterrupt(int number, int interrupt) noexcept {
  if (!valid(number)) return fail(EINVAL);
  int& flags = g_actions[number].sa_flags;
  flags = interrupt ? flags & ~SA_RESTART : flags | SA_RESTART;
  return 0;
}
int sigaltstack(const stack_t*, stack_t*) noexcept { return 0; }

int raise(int number) noexcept {
  if (!valid(number)) return fail(EINVAL);
  send(number);
  return 0;
}
int kill(pid_t process, int number) noexcept {
  if (number != 0 && !valid(number)) return fail(EINVAL);
  if (!is_own(process)) return fail(ESRCH);
  return number ? raise(number) : 0;
}
int killpg(int, int number) noexcept { return raise(number); }
int sigqueue(pid_t process, int number, const sigval) noexcept { return kill(process, number); }
// Of any thread of this process: the running one delivers it.
int pthread_kill(pthread_t, int number) noexcept {
  if (number != 0 && !valid(number)) return EINVAL;
  return number ? raise(number) : 0;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const sigset_t old = g_blocked;
  if (set) {
    for (int number = 1; number < kSignals; number++) {
      const bool named = sigismember(set, number) == 1;
      if (how == SIG_SETMASK ? !named : how == SIG_UNBLOCK && named) sigdelset(&g_blocked, number);
      if (how != SIG_UNBLOCK && named) sigaddset(&g_blocked, number);
    }
  }
  if (before) *before = old;
  deliver_pending();
  return 0;
}
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return sigprocmask(how, set, before);
}
int sigpending(sigset_t* set) noexcept {
  *set = g_pending;
  return 0;
}

int pause() {
  while (!deliver_pending() && !ring_alarm()) sched_yield();
  return fail(EINTR);
}
int sigsuspend(const sigset_t* set) {
  const sigset_t before = g_blocked;
  g_blocked = *set;
  pause();
  g_blocked = before;
  deliver_pending();
  return fail(EINTR);
}
int sigwait(const sigset_t* set, int* out) {
  for (;;) {
    for (int number = 1; number < kSignals; number++) {
      if (sigismember(set, number) != 1 || !sigismember(&g_pending, number)) continue;
      sigdelset(&g_pending, number);
      *out = number;
      return 0;
    }
    if (!ring_alarm()) sched_yield();
  }
}

unsigned alarm(unsigned seconds) noexcept {
  const unsigned before = g_alarm;
  g_alarm = seconds;
  return before;
}
int setitimer(__itimer_which_t, const itimerval* timer, itimerval* before) noexcept {
  if (before) *before = g_timer;
  if (timer) g_timer = *timer;
  return 0;
}
int getitimer(__itimer_which_t, itimerval* timer) noexcept {
  *timer = g_timer;
  return 0;
}

}  // extern "C"
