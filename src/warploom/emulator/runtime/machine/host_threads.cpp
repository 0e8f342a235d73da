// Host threads of the program (std::thread, pthreads): each is a fiber of the one OS thread.
//
// The program and the C++ library it uses are bound to these functions, not to the C library's.
#include <pthread.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "host/call_targets.h"
#include "host/exceptions.h"
#include "host/libc_calls.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "machine/host_threads.h"
#include "machine/into_program.h"
#include "machine/world_setup.h"
#include "order/race.h"
#include "report/report.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom {

struct Started {
  void* result = nullptr;
  bool ended = false;
  Clock clock;  // what the thread did
  WaitQueue joiners;
};

namespace {

struct Mutex {
  const Fiber* owner = nullptr;
  int depth = 0;
  Clock clock;  // what its last owner did
  WaitQueue waiters;
};

struct Condition {
  uint64_t last = 0;         // ticket that was handed out
  std::set<uint64_t> sleep;  // tickets that nobody has woken
  Clock clock;
  WaitQueue waiters;
};

struct Barrier {
  unsigned count = 0, arrived = 0;
  uint64_t generation = 0;
  Clock clock;
  WaitQueue waiters;
};

struct Once {
  bool running = false;
  Clock clock;  // what the function did
  WaitQueue waiters;
};

std::map<pthread_mutex_t*, Mutex> g_mutexes;
std::map<pthread_cond_t*, Condition> g_conditions;
std::map<pthread_barrier_t*, Barrier> g_barriers;
std::map<pthread_once_t*, Once> g_onces;
std::unordered_map<pthread_t, const Process*> g_thread_handles;  // all that were ever given

pthread_t handle_of(const Started* thread) { return reinterpret_cast<pthread_t>(thread); }

Started* new_started(const Process* process) {
  auto* thread = new Started;
  g_thread_handles[handle_of(thread)] = process;
  return thread;
}

// A number that the program made up would lead into the runtime's memory.
Started& started_of(pthread_t handle, const char* call) {
  const auto found = g_thread_handles.find(handle);
  if (found == g_thread_handles.end() || found->second != current_host().process) {
    report_reach(std::string(call) + " gets a handle that stands for no thread of this process");
    stop_run();
  }
  return *reinterpret_cast<Started*>(handle);
}

bool is_of_caller(const void* p, const void* caller) {
  Dl_info its, callers;
  return dladdr(p, &its) && dladdr(caller, &callers) && its.dli_fbase == callers.dli_fbase;
}

// PTHREAD_MUTEX_RECURSIVE in the first bits of the kind, as glibc lays it out.
bool recursive(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
}

void take(Mutex& mutex) {
  mutex.owner = g_current;
  mutex.depth = 1;
  acquire_clock(mutex.clock);
}

int lock(pthread_mutex_t* handle, const Limit& limit = Limit::none()) {
  Mutex& mutex = g_mutexes[handle];
  if (mutex.owner == g_current && recursive(handle)) {
    mutex.depth++;
    return 0;
  }
  if (!limit.wait(mutex.waiters, [&] { return mutex.owner == nullptr; }, {"a mutex", {}})) {
    return ETIMEDOUT;
  }
  take(mutex);
  return 0;
}

int unlock(pthread_mutex_t* handle) {
  Mutex& mutex = g_mutexes[handle];
  if (mutex.owner != g_current) return EPERM;
  if (--mutex.depth > 0) return 0;
  mutex.clock = release_clock();
  mutex.owner = nullptr;
  tell_waiters(mutex.waiters);
  return 0;
}

// POSIX allows a wait to end without a signal: at random, one does after some turns.
template <class Predicate>
bool wakes_by_itself(Predicate&& woken) {
  if (!random_schedule() || g_timed || random_below(2)) return false;
  for (auto turns = random_below(2) ? 0 : random_below(16); turns > 0 && !woken(); turns--)
    yield_current();
  return !woken();
}

int wait(pthread_cond_t* handle, pthread_mutex_t* mutex, const Limit& limit = Limit::none()) {
  Condition& condition = g_conditions[handle];
  const uint64_t ticket = ++condition.last;
  condition.sleep.insert(ticket);
  unlock(mutex);
  const auto woken = [&] { return !condition.sleep.contains(ticket); };
  const bool by_itself = wakes_by_itself(woken);
  const bool in_time =
      by_itself || limit.wait(condition.waiters, woken, {"a condition variable", {}});
  if (woken()) acquire_clock(condition.clock);
  condition.sleep.erase(ticket);
  lock(mutex);
  return in_time ? 0 : ETIMEDOUT;
}

int wait_until(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* moment,
               const void* caller) {
  look_at(condition, false, caller);
  look_at(mutex, false, caller);
  look_at(moment, false, caller);
  if (!is_time(moment)) return EINVAL;
  return wait(condition, mutex, Limit::until(*moment));
}

int lock_until(pthread_mutex_t* mutex, const timespec* moment, const void* caller) {
  look_at(mutex, false, caller);
  look_at(moment, false, caller);
  if (!is_time(moment)) return EINVAL;
  return lock(mutex, Limit::until(*moment));
}

void signal(pthread_cond_t* handle, bool all) {
  Condition& condition = g_conditions[handle];
  if (condition.sleep.empty()) return;
  if (all) {
    condition.sleep.clear();
  } else {
    condition.sleep.erase(condition.sleep.begin());
  }
  condition.clock.join(release_clock());
  condition.waiters.notify_all();
}

void end(Started& thread, void* result) {
  end_thread_data(current_host().state);
  price_host_work(false);
  thread.result = result;
  thread.clock = release_clock();
  thread.ended = true;
  thread.joiners.notify_all();
}

void join(Started& thread) {
  thread.joiners.wait_until([&] { return thread.ended; }, {"a thread to end", {}});
  acquire_clock(thread.clock);
}

int join(Started& thread, void** result, const void* caller) {
  join(thread);
  look_at(result, true, caller);
  if (result) *result = thread.result;
  return 0;
}

}  // namespace

void look_at_object(const volatile void* object, std::size_t bytes, bool write,
                    const void* caller) {
  const void* p = const_cast<const void*>(object);
  if (!p || !of_program(caller)) return;
  if (!is_of_running_program(caller) && is_of_caller(p, caller)) return;
  write ? program_writes(p, bytes, caller) : program_reads(p, bytes, caller);
}

}  // namespace warploom

using namespace warploom;

extern "C" {

int pthread_create(pthread_t* out, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  check_call_target(reinterpret_cast<const void*>(function), CALLER);
  look_at(attributes, false, CALLER);
  look_at(out, true, CALLER);
  HostThread& creator = current_host();
  Started* thread = new_started(creator.process);
  HostThread& made =
      add_host_thread(*creator.process, default_device(*creator.process),
                      [thread, function, argument, began = time_now()] {
                        reach(began);
                        end(*thread, into_program(WARPLOOM_FRAME, function, argument));
                      });
  made.started = thread;
  made.working = creator.working;
  made.clock = release_clock();
  *out = handle_of(thread);
  return 0;
}

int pthread_join(pthread_t handle, void** result) {
  return join(started_of(handle, "pthread_join"), result, CALLER);
}

int pthread_tryjoin_np(pthread_t handle, void** result) noexcept {
  Started& thread = started_of(handle, "pthread_tryjoin_np");
  return thread.ended ? join(thread, result, CALLER) : EBUSY;
}

int pthread_detach(pthread_t handle) {
  started_of(handle, "pthread_detach");
  return 0;
}

// The C library would take the handle for one of the system's threads, and follow it.
[[noreturn]] static void refuse_call(const char* name) {
  warploom::stop_unsupported(name, "the program's threads are none of the system's here");
}
int pthread_cancel(pthread_t) { refuse_call("pthread_cancel"); }
int pthread_timedjoin_np(pthread_t, void**, const timespec*) {
  refuse_call("pthread_timedjoin_np");
}
int pthread_clockjoin_np(pthread_t, void**, clockid_t, const timespec*) {
  refuse_call("pthread_clockjoin_np");
}
int pthread_getcpuclockid(pthread_t, clockid_t*) noexcept { refuse_call("pthread_getcpuclockid"); }
int pthread_setschedprio(pthread_t, int) noexcept { refuse_call("pthread_setschedprio"); }

pthread_t pthread_self() noexcept {
  if (!running_program()) return 0;
  HostThread& thread = current_host();
  if (!thread.started) thread.started = new_started(thread.process);  // of main
  return handle_of(thread.started);
}

// The frames of the thread are left as they are: nothing of them is unwound.
void pthread_exit(void* result) {
  HostThread& thread = current_host();
  const bool is_main = &thread == thread.process->threads.front().get();
  (void)pthread_self();
  end(*thread.started, result);
  // The process goes on until the last thread has ended.
  for (const auto& other : thread.process->threads) {
    if (is_main && other.get() != &thread && other->started) join(*other->started);
  }
  if (is_main) end_process(0);
  thread.fiber->state = FiberState::Done;
  switch_to_scheduler();
  __builtin_unreachable();
}

int pthread_once(pthread_once_t* control, void (*function)()) {
  check_call_target(reinterpret_cast<const void*>(function), CALLER);
  constexpr int kRunning = 1, kDone = 2;  // as the C library has them
  Once& once = g_onces[control];
  const OnceCall call = once_call();
  once.waiters.wait_until([&] { return !once.running; }, {"pthread_once", {}});
  acquire_clock(once.clock);
  look_at(control, false, CALLER);
  if (*control == kDone) return 0;
  once.running = true;
  look_at(control, true, CALLER);
  *control = kRunning;
  const auto leave = [&](int state) {
    *control = state;
    once.clock = release_clock();
    once.running = false;
    once.waiters.notify_all();
  };
  set_once_call(call);
  try {
    into_program(WARPLOOM_FRAME, function);
  } catch (...) {
    leave(PTHREAD_ONCE_INIT);
    throw;
  }
  leave(kDone);
  return 0;
}

// The runtime keeps what these objects stand for, and reads at most the kind of a mutex: threads
// that use one at the same time do not race.
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  look_at(mutex, false, CALLER);
  return running_program() ? lock(mutex) : 0;
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (!running_program()) return 0;
  look_at(mutex, false, CALLER);
  Mutex& state = g_mutexes[mutex];
  if (state.owner && !(state.owner == g_current && recursive(mutex))) {
    poll_current();
    return EBUSY;
  }
  return lock(mutex);
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* moment) noexcept {
  return lock_until(mutex, moment, CALLER);
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t, const timespec* moment) noexcept {
  return lock_until(mutex, moment, CALLER);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  look_at(mutex, false, CALLER);
  return running_program() ? unlock(mutex) : 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  look_at(condition, false, CALLER);
  look_at(mutex, false, CALLER);
  return wait(condition, mutex);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* moment) {
  return wait_until(condition, mutex, moment, CALLER);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t,
                           const timespec* moment) {
  return wait_until(condition, mutex, moment, CALLER);
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  look_at(condition, false, CALLER);
  warploom::signal(condition, false);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  look_at(condition, false, CALLER);
  warploom::signal(condition, true);
  return 0;
}

int pthread_barrier_init(pthread_barrier_t* handle, const pthread_barrierattr_t* attributes,
                         unsigned count) noexcept {
  look_at(attributes, false, CALLER);
  look_at(handle, true, CALLER);
  g_barriers[handle].count = count;
  return count ? 0 : EINVAL;
}
int pthread_barrier_destroy(pthread_barrier_t* handle) noexcept {
  look_at(handle, true, CALLER);
  g_barriers.erase(handle);
  return 0;
}
int pthread_barrier_wait(pthread_barrier_t* handle) noexcept {
  look_at(handle, false, CALLER);
  Barrier& barrier = g_barriers[handle];
  barrier.clock.join(release_clock());
  const uint64_t generation = barrier.generation;
  if (++barrier.arrived == barrier.count) {
    barrier.arrived = 0;
    barrier.generation++;
    barrier.waiters.notify_all();
    acquire_clock(barrier.clock);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  barrier.waiters.wait_until([&] { return barrier.generation != generation; },
                             {"pthread_barrier_wait", {}});
  acquire_clock(barrier.clock);
  return 0;
}
}
