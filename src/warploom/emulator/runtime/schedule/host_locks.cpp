// Locks of host threads other than mutexes: semaphores, locks of readers and writers, spin locks,
// and futexes, on which std::atomic::wait, std::latch and std::promise rest. The C library's own
// would stop the one OS thread that all threads of the program share.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "host/libc_calls.h"
#include "machine/host_threads.h"
#include "machine/virtual_time.h"
#include "machine/world_setup.h"
#include "order/race.h"
#include "report/report.h"
#include "timing/timing.h"

namespace warploom {

namespace {

struct ReadWriteLock {
  const Fiber* writer = nullptr;
  std::vector<const Fiber*> readers;  // one for each time that it is held
  Clock written, read;                // what its holders did
  WaitQueue waiters;
  bool free_for(bool write) const { return !writer && (!write || readers.empty()); }
};

struct SpinLock {
  bool taken = false;
  Clock clock;
  WaitQueue waiters;
};

struct Semaphore {
  unsigned value = 0;
  Clock clock;  // what those did who posted
  WaitQueue waiters;
};

struct FutexWait {
  const void* address;
  unsigned bits;
  bool woken = false;
};

std::map<const pthread_rwlock_t*, ReadWriteLock> g_read_write_locks;
std::map<const volatile void*, SpinLock> g_spin_locks;
std::map<const sem_t*, Semaphore> g_semaphores;
std::vector<FutexWait*> g_futex_waits;  // the oldest first
WaitQueue g_futex_waiters;

int lock_for(pthread_rwlock_t* handle, bool write, const Limit& limit) {
  ReadWriteLock& lock = g_read_write_locks[handle];
  if (lock.writer == g_current) return EDEADLK;
  if (!limit.wait(lock.waiters, [&] { return lock.free_for(write); },
                  {"a lock of readers and writers", {}})) {
    return ETIMEDOUT;
  }
  acquire_clock(lock.written);
  if (write) {
    acquire_clock(lock.read);
    lock.writer = g_current;
  } else {
    lock.readers.push_back(g_current);
  }
  return 0;
}

int try_lock_for(pthread_rwlock_t* handle, bool write) {
  if (g_read_write_locks[handle].free_for(write)) return lock_for(handle, write, Limit::none());
  poll_current();
  return EBUSY;
}

int leave_lock(pthread_rwlock_t* handle) {
  ReadWriteLock& lock = g_read_write_locks[handle];
  if (lock.writer == g_current) {
    lock.writer = nullptr;
    lock.written = release_clock();
    lock.read = {};
  } else {
    const auto mine = std::ranges::find(lock.readers, g_current);
    if (mine == lock.readers.end()) return EPERM;
    lock.readers.erase(mine);
    lock.read.join(release_clock());
  }
  tell_waiters(lock.waiters);
  return 0;
}

// One that sem_open made begins with the value that the C library gave it.
Semaphore& semaphore_of(const sem_t* handle) {
  const auto [found, added] = g_semaphores.try_emplace(handle);
  if (added) found->second.value = *reinterpret_cast<const unsigned*>(handle);
  return found->second;
}

int fail_call(int code) {
  errno = code;
  return -1;
}

int take_semaphore(sem_t* handle, const Limit& limit) {
  Semaphore& semaphore = semaphore_of(handle);
  if (!limit.wait(semaphore.waiters, [&] { return semaphore.value > 0; }, {"a semaphore", {}})) {
    return fail_call(ETIMEDOUT);
  }
  semaphore.value--;
  acquire_clock(semaphore.clock);
  return 0;
}

// As the system does it: no order of memory comes with it.
long wait_for_futex(const unsigned* address, unsigned value, unsigned bits, const Limit& limit) {
  if (*static_cast<const volatile unsigned*>(address) != value) return fail_call(EAGAIN);
  FutexWait wait{address, bits};
  g_futex_waits.push_back(&wait);
  if (limit.wait(g_futex_waiters, [&] { return wait.woken; }, {"an atomic wait (futex)", {}})) {
    return 0;
  }
  std::erase(g_futex_waits, &wait);
  return fail_call(ETIMEDOUT);
}

long wake_futex(const void* address, long most, unsigned bits) {
  long woken = 0;
  std::erase_if(g_futex_waits, [&](FutexWait* wait) {
    if (woken == most || wait->address != address || !(wait->bits & bits)) return false;
    wait->woken = true;
    woken++;
    return true;
  });
  if (woken) g_futex_waiters.notify_all();
  return woken;
}

int hold_until(pthread_rwlock_t* lock, bool write, const timespec* moment, const void* caller) {
  look_at(lock, false, caller);
  look_at(moment, false, caller);
  return is_time(moment) ? lock_for(lock, write, Limit::until(*moment)) : EINVAL;
}

int take_semaphore_until(sem_t* semaphore, const timespec* moment, const void* caller) {
  look_at(semaphore, false, caller);
  look_at(moment, false, caller);
  return is_time(moment) ? take_semaphore(semaphore, Limit::until(*moment)) : fail_call(EINVAL);
}

}  // namespace

Limit Limit::until(const timespec& moment) {
  return Limit(std::max(0.0, nanoseconds_until(moment)));
}
Limit Limit::of(const timespec& duration) {
  return Limit(std::max(
      0.0, 1e9 * static_cast<double>(duration.tv_sec) + static_cast<double>(duration.tv_nsec)));
}
double Limit::start() { return virtual_ns(); }
uint64_t Limit::few_turns() {
  if (!random_schedule() || random_below(2)) return 0;
  return random_below(16);
}
bool Limit::ends_early() const {
  constexpr double kShort = 1e9;
  constexpr int kInLazy = 8;  // of the first waits: the hosts are ahead of all else
  static int in_lazy = 0;
  if (nanoseconds_ > kShort || g_timed) return false;
  if (g_config.timing == NetTiming::Lazy) return ++in_lazy <= kInLazy;
  return random_schedule() && random_below(4);
}
// Clocks that a program sees go faster or slower than that by a tenth.
void Limit::pass(double began) const { let_time_pass(began + 1.2 * nanoseconds_ + 1000); }

long futex_call(const long (&arguments)[6], const void* caller) {
  const auto* address = reinterpret_cast<const unsigned*>(arguments[0]);
  const auto* time = reinterpret_cast<const timespec*>(arguments[3]);
  const auto value = static_cast<unsigned>(arguments[2]);
  look_at(address, false, caller);
  switch (arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      look_at(time, false, caller);
      if (time && !is_time(time)) return fail_call(EINVAL);
      const bool with_bits = (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
      const Limit limit = !time       ? Limit::none()
                          : with_bits ? Limit::until(*time)
                                      : Limit::of(*time);
      return wait_for_futex(address, value, with_bits ? static_cast<unsigned>(arguments[5]) : ~0u,
                            limit);
    }
    case FUTEX_WAKE:
      return wake_futex(address, arguments[2], ~0u);
    case FUTEX_WAKE_BITSET:
      return wake_futex(address, arguments[2], static_cast<unsigned>(arguments[5]));
    default:
      stop_unsupported("syscall", "of futexes, waiting and waking is emulated");
  }
}

}  // namespace warploom

using namespace warploom;

extern "C" {

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  return running_program() ? lock_for(lock, false, Limit::none()) : 0;
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  return running_program() ? lock_for(lock, true, Limit::none()) : 0;
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  return running_program() ? try_lock_for(lock, false) : 0;
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  return running_program() ? try_lock_for(lock, true) : 0;
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* moment) noexcept {
  return hold_until(lock, false, moment, CALLER);
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* moment) noexcept {
  return hold_until(lock, true, moment, CALLER);
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t, const timespec* moment) noexcept {
  return hold_until(lock, false, moment, CALLER);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t, const timespec* moment) noexcept {
  return hold_until(lock, true, moment, CALLER);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  return running_program() ? leave_lock(lock) : 0;
}

int pthread_spin_init(pthread_spinlock_t* lock, int) noexcept {
  look_at(lock, true, CALLER);
  g_spin_locks.erase(lock);
  return 0;
}
int pthread_spin_destroy(pthread_spinlock_t* lock) noexcept {
  look_at(lock, true, CALLER);
  g_spin_locks.erase(lock);
  return 0;
}
int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  SpinLock& state = g_spin_locks[lock];
  state.waiters.wait_until([&] { return !state.taken; }, {"a spin lock", {}});
  state.taken = true;
  acquire_clock(state.clock);
  return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  if (!g_spin_locks[lock].taken) return pthread_spin_lock(lock);
  poll_current();
  return EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  look_at(lock, false, CALLER);
  SpinLock& state = g_spin_locks[lock];
  state.taken = false;
  state.clock = release_clock();
  tell_waiters(state.waiters);
  return 0;
}

int sem_init(sem_t* semaphore, int, unsigned value) noexcept {
  look_at(semaphore, true, CALLER);
  g_semaphores.erase(semaphore);
  g_semaphores[semaphore].value = value;
  return 0;
}
int sem_destroy(sem_t* semaphore) noexcept {
  look_at(semaphore, true, CALLER);
  g_semaphores.erase(semaphore);
  return 0;
}
int sem_post(sem_t* semaphore) noexcept {
  look_at(semaphore, false, CALLER);
  Semaphore& state = semaphore_of(semaphore);
  state.clock.join(release_clock());
  state.value++;
  state.waiters.notify_all();
  return 0;
}
int sem_wait(sem_t* semaphore) {
  look_at(semaphore, false, CALLER);
  return take_semaphore(semaphore, Limit::none());
}
int sem_trywait(sem_t* semaphore) noexcept {
  look_at(semaphore, false, CALLER);
  if (semaphore_of(semaphore).value > 0) return take_semaphore(semaphore, Limit::none());
  poll_current();
  return fail_call(EAGAIN);
}
int sem_timedwait(sem_t* semaphore, const timespec* moment) {
  return take_semaphore_until(semaphore, moment, CALLER);
}
int sem_clockwait(sem_t* semaphore, clockid_t, const timespec* moment) {
  return take_semaphore_until(semaphore, moment, CALLER);
}
int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  look_at(semaphore, false, CALLER);
  look_at(value, true, CALLER);
  *value = static_cast<int>(semaphore_of(semaphore).value);
  return 0;
}
}
