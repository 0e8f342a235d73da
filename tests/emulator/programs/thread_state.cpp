// What each thread has for itself, and what threads wait by: see two_ranks.h. Threads of one process
// take their turns by barriers, so that a machine with real threads logs the same.
#include <fenv.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include "two_ranks.h"

using namespace std::chrono_literals;

// Two threads that run a piece of code each, with meetings in between; what they say in order.
static std::string said[2];
template <class F>
static void two(F f) {
  std::barrier meet(2);
  said[0] = said[1] = "";
  auto work = [&](int id) { f(id, [&] { meet.arrive_and_wait(); }); };
  std::thread a(work, 0), b(work, 1);
  step();
  a.join(); b.join();
  step();
  put("%s; %s", said[0].c_str(), said[1].c_str());
}
static void say(int id, long n) { said[id] += std::to_string(n) + " "; }

// --- errno and its like
ITEM(errno_in_waits) {
  // Linux leaves EAGAIN where what a thread would wait for has come meanwhile.
  auto mine = [](int value) { return errno == EAGAIN ? value : errno; };
  two([&](int id, auto meet) {
    const int first = 110 + id + 2 * who, second = 120 + id;
    errno = first; meet(); say(id, mine(first));
    static std::mutex m; { std::lock_guard l(m); std::this_thread::yield(); errno = second; } meet(); say(id, mine(second));
    std::this_thread::sleep_for(1ms); meet(); say(id, mine(second));
  });
}
ITEM(h_errno) { h_errno = 4; two([](int id, auto meet) { h_errno = 1 + id; meet(); say(id, h_errno); }); put("%d", h_errno); h_errno = 0; }
ITEM(arithmetic) {
  fesetround(FE_UPWARD); feclearexcept(FE_ALL_EXCEPT);
  two([](int id, auto meet) {
    meet(); fesetround(id ? FE_DOWNWARD : FE_TOWARDZERO); meet(); say(id, fegetround() == (id ? FE_DOWNWARD : FE_TOWARDZERO));
    if (id) feraiseexcept(FE_DIVBYZERO); meet(); say(id, fetestexcept(FE_DIVBYZERO) != 0); meet();
  });
  put("%d %d", fegetround() == FE_UPWARD, fetestexcept(FE_DIVBYZERO)); fesetround(FE_TONEAREST);
}
ITEM(uselocale) {
  two([](int id, auto meet) {
    locale_t own = newlocale(LC_ALL_MASK, id ? "C.UTF-8" : "C", nullptr); say(id, uselocale(nullptr) == LC_GLOBAL_LOCALE);
    uselocale(own); meet(); say(id, MB_CUR_MAX); say(id, uselocale(nullptr) == own); meet(); uselocale(LC_GLOBAL_LOCALE); freelocale(own);
  });
}
ITEM(gettid) {
  std::atomic<long> ids[2]; static std::atomic<long> raw[2];
  two([&](int id, auto meet) { ids[id] = gettid(); raw[id] = syscall(SYS_gettid); meet(); say(id, gettid() == ids[id]); });
  put("%d %d %d %d %d", ids[0] != ids[1], ids[0] != gettid(), gettid() == getpid(), raw[0] == ids[0], raw[1] == ids[1]);
}
// --- exceptions
struct Watcher {
  int id; int before; std::function<void()> meet;
  ~Watcher() { meet(); say(id, std::uncaught_exceptions() - before); meet(); }
};
ITEM(exceptions) {
  two([](int id, auto meet) {
    try {
      try { Watcher w{id, std::uncaught_exceptions(), meet}; if (id) throw std::runtime_error("own"); else throw 5; }
      catch (...) { meet(); say(id, std::uncaught_exceptions()); throw; }
    } catch (const std::exception& e) { meet(); say(id, e.what()[0]); } catch (int n) { meet(); say(id, n); }
    meet(); say(id, std::current_exception() == nullptr);
  });
}
ITEM(nested_exceptions) {
  two([](int id, auto meet) {
    try { throw id; } catch (int outer) {
      meet();
      try { throw 10 + id; } catch (int inner) { meet(); say(id, inner); try { throw; } catch (int again) { say(id, again); meet(); } }
      try { throw; } catch (int again) { say(id, again); }
      meet(); say(id, outer);
    }
    meet();
  });
}
ITEM(exception_pointer) {
  std::exception_ptr kept;
  two([&](int id, auto meet) {
    if (id) { try { throw std::logic_error("passed"); } catch (...) { kept = std::current_exception(); meet(); meet(); } }
    else { meet(); try { std::rethrow_exception(kept); } catch (const std::logic_error& e) { say(id, e.what()[0]); meet(); } }
  });
}
// --- once
ITEM(call_once) {
  std::once_flag flag, other; std::atomic<int> runs = 0, fails = 0;
  two([&](int id, auto meet) {
    for (int i = 0; i < 2; i++) {
      try { std::call_once(flag, [&] { std::this_thread::yield(); if (runs++ == 0) { std::call_once(other, [&] { fails += 100; }); throw 1; } std::this_thread::yield(); }); } catch (int) { fails++; }
    }
    meet(); say(id, runs); say(id, fails);
  });
}
// --- ends of threads
static int ended;
static void end_first(void* p) { ended = ended * 10 + (long)p; }
ITEM(key_destructors) {
  ended = 0; pthread_key_t a, b; pthread_key_create(&a, end_first); pthread_key_create(&b, nullptr);
  std::thread t([&] { pthread_setspecific(a, (void*)3L); pthread_setspecific(b, (void*)4L); }); t.join(); step(); put("%d", ended);
  std::thread u([&] { pthread_setspecific(a, (void*)5L); pthread_exit(nullptr); }); u.join(); step(); put("%d %d", ended, pthread_getspecific(a) == nullptr); pthread_key_delete(a); pthread_key_delete(b);
}
struct AtEnd { int value = 0; ~AtEnd() { ended += value; } };
static thread_local AtEnd at_end;
ITEM(local_destructors) {
  ended = 0; std::thread t([] { at_end.value = 7; }); t.join(); put("%d", ended); step();
  pthread_t u; pthread_create(&u, nullptr, [](void*) -> void* { at_end.value = 30; pthread_exit(nullptr); }, nullptr); pthread_join(u, nullptr); put("%d", ended);
}
// --- what threads wait by
ITEM(latch) { std::latch l(3); std::thread a([&] { l.arrive_and_wait(); }), b([&] { l.count_down(); l.wait(); }); step(); l.arrive_and_wait(); a.join(); b.join(); put("%d", l.try_wait()); }
ITEM(semaphore) {
  std::counting_semaphore<4> s(0); std::binary_semaphore t(0); std::thread a([&] { s.acquire(); t.release(); });
  step(); s.release(); t.acquire(); a.join(); put("%d", s.try_acquire());
}
ITEM(atomic_wait) {
  std::atomic<int> v = 0; std::atomic_flag f; std::thread a([&] { v.wait(0); f.test_and_set(); f.notify_all(); });
  step(); v = 3; v.notify_one(); f.wait(false); a.join(); put("%d", v.load());
}
ITEM(atomic_wait_long) { std::atomic<long> v = 0; std::thread a([&] { v.wait(0); v = 9; v.notify_all(); }); step(); v = 3; v.notify_all(); v.wait(3); a.join(); put("%ld", v.load()); }
int main(int argc, char** argv) { return run_items(argc, argv); }
