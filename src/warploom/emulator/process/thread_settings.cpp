// What a program sets of its threads, and reads again: names, processors and scheduling. The C
// library's own functions know the threads of the system only, and a program's are none.
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "process.h"

namespace {

constexpr std::size_t kNameBytes = 16;  // pthread_setname_np(3), with the terminating zero

struct Settings {
  pthread_t thread;
  char name[kNameBytes];
  bool has_processors;
  cpu_set_t processors;
  Settings* next;
};
Settings* g_settings;

Settings* settings_of(pthread_t thread) {
  for (Settings* one = g_settings; one; one = one->next) {
    if (one->thread == thread) return one;
  }
  auto* made = static_cast<Settings*>(std::calloc(1, sizeof(Settings)));
  if (!made) return nullptr;
  made->thread = thread;
  std::strncpy(made->name, "program", kNameBytes - 1);
  made->next = g_settings;
  g_settings = made;
  return made;
}

}  // namespace

extern "C" {

int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  if (std::strlen(name) >= kNameBytes) return ERANGE;
  Settings* settings = settings_of(thread);
  if (!settings) return ENOMEM;
  std::strcpy(settings->name, name);
  return 0;
}

int pthread_getname_np(pthread_t thread, char* name, std::size_t bytes) noexcept {
  Settings* settings = settings_of(thread);
  if (!settings) return ENOMEM;
  if (std::strlen(settings->name) >= bytes) return ERANGE;
  std::strcpy(name, settings->name);
  return 0;
}

int pthread_setaffinity_np(pthread_t thread, std::size_t bytes, const cpu_set_t* set) noexcept {
  Settings* settings = settings_of(thread);
  if (!settings || bytes > sizeof(cpu_set_t) || CPU_COUNT_S(bytes, set) == 0) return EINVAL;
  CPU_ZERO(&settings->processors);
  std::memcpy(&settings->processors, set, bytes);
  settings->has_processors = true;
  return 0;
}

int pthread_getaffinity_np(pthread_t thread, std::size_t bytes, cpu_set_t* set) noexcept {
  const Settings* settings = settings_of(thread);
  if (!settings || !settings->has_processors) {
    cpu_set_t known;
    using Get = int (*)(pid_t, std::size_t, cpu_set_t*);
    if (reinterpret_cast<Get>(warploom_library("sched_getaffinity"))(0, sizeof known, &known)) {
      return errno;
    }
    if (bytes < sizeof known) return EINVAL;
    std::memset(set, 0, bytes);
    std::memcpy(set, &known, sizeof known);
    return 0;
  }
  if (bytes < sizeof(cpu_set_t)) return EINVAL;
  std::memset(set, 0, bytes);
  std::memcpy(set, &settings->processors, sizeof(cpu_set_t));
  return 0;
}

// Of the thread that asks, or another one of its process by a number that nobody here looks up.
int sched_setaffinity(pid_t, std::size_t bytes, const cpu_set_t* set) noexcept {
  const int error = pthread_setaffinity_np(pthread_self(), bytes, set);
  if (error) errno = error;
  return error ? -1 : 0;
}
int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* set) noexcept {
  const int error = pthread_getaffinity_np(pthread_self(), bytes, set);
  if (error) errno = error;
  return error ? -1 : 0;
}

// As for a user who may not ask for real-time scheduling.
int pthread_setschedparam(pthread_t, int policy, const sched_param* parameters) noexcept {
  if (policy == SCHED_FIFO || policy == SCHED_RR) return EPERM;
  return parameters->sched_priority ? EINVAL : 0;
}

int pthread_getschedparam(pthread_t, int* policy, sched_param* parameters) noexcept {
  *policy = SCHED_OTHER;
  parameters->sched_priority = 0;
  return 0;
}

// A thread has what the attributes say that nobody has set; where its stack lies is not told.
int pthread_getattr_np(pthread_t, pthread_attr_t* attributes) noexcept {
  return pthread_attr_init(attributes);
}

}  // extern "C"
