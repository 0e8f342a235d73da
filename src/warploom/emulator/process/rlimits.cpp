// Limits and priority of a process. The system's would hold for all processes of the job.
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "process.h"

namespace {

using Real = int (*)(unsigned, rlimit*);

bool g_set[RLIMIT_NLIMITS];
rlimit g_limits[RLIMIT_NLIMITS];
bool g_has_priority;
int g_priority;

int fail_with(int error) {
  errno = error;
  return -1;
}

bool is_self(long process) { return process == 0 || process == getpid(); }

int get(unsigned which, rlimit* out) {
  if (which >= RLIMIT_NLIMITS) return fail_with(EINVAL);
  if (g_set[which]) {
    *out = g_limits[which];
    return 0;
  }
  rlimit known{};
  const auto real = reinterpret_cast<Real>(warploom_library("getrlimit"));
  if (real(which, &known) != 0) return -1;
  *out = known;
  return 0;
}

// What is more than before the system has to give; less would take it from other processes.
int set(unsigned which, const rlimit* wanted) {
  rlimit known{};
  if (get(which, &known) != 0) return -1;
  if (wanted->rlim_cur > wanted->rlim_max) return fail_with(EINVAL);
  if (wanted->rlim_max > known.rlim_max) return fail_with(EPERM);
  rlimit at_least = *wanted;
  const auto real_get = reinterpret_cast<Real>(warploom_library("getrlimit"));
  const auto real_set = reinterpret_cast<Real>(warploom_library("setrlimit"));
  if (real_get(which, &known) == 0 && wanted->rlim_cur > known.rlim_cur) {
    at_least.rlim_max = known.rlim_max;
    if (real_set(which, &at_least) != 0) return -1;
  }
  g_limits[which] = *wanted;
  g_set[which] = true;
  return 0;
}

int set_priority(int value) {
  constexpr int kLeast = 19;
  const int before = getpriority(PRIO_PROCESS, 0);
  if (value < before) return fail_with(EACCES);
  g_priority = value < kLeast ? value : kLeast;
  g_has_priority = true;
  return 0;
}

}  // namespace

extern "C" {

int getrlimit(__rlimit_resource_t which, rlimit* out) noexcept {
  return get(static_cast<unsigned>(which), out);
}
int getrlimit64(__rlimit_resource_t which, rlimit64* out) noexcept {
  static_assert(sizeof(rlimit) == sizeof(rlimit64));
  return get(static_cast<unsigned>(which), reinterpret_cast<rlimit*>(out));
}
int setrlimit(__rlimit_resource_t which, const rlimit* wanted) noexcept {
  return set(static_cast<unsigned>(which), wanted);
}
int setrlimit64(__rlimit_resource_t which, const rlimit64* wanted) noexcept {
  return set(static_cast<unsigned>(which), reinterpret_cast<const rlimit*>(wanted));
}
int prlimit(pid_t process, __rlimit_resource which, const rlimit* wanted, rlimit* before) noexcept {
  if (!is_self(process)) return fail_with(EPERM);
  rlimit known{};
  if (get(static_cast<unsigned>(which), &known) != 0) return -1;
  if (wanted && set(static_cast<unsigned>(which), wanted) != 0) return -1;
  if (before) *before = known;
  return 0;
}
int prlimit64(pid_t process, __rlimit_resource which, const rlimit64* wanted,
              rlimit64* before) noexcept {
  return prlimit(process, which, reinterpret_cast<const rlimit*>(wanted),
                 reinterpret_cast<rlimit*>(before));
}

int getpriority(__priority_which_t which, id_t who) noexcept {
  if (which == PRIO_PROCESS && is_self(who) && g_has_priority) return g_priority;
  using Get = int (*)(__priority_which_t, id_t);
  return reinterpret_cast<Get>(warploom_library("getpriority"))(which, who);
}
int setpriority(__priority_which_t which, id_t who, int value) noexcept {
  if (which != PRIO_PROCESS || !is_self(who)) return fail_with(EPERM);
  return set_priority(value);
}
int nice(int more) noexcept {
  const int wanted = getpriority(PRIO_PROCESS, 0) + more;
  if (set_priority(wanted) != 0) return fail_with(EPERM);
  return g_priority;
}

}  // extern "C"
