// The ways out of a process, and what runs on them.
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "process.h"

namespace {

struct Handler {
  void (*plain)(void*);
  void (*with_code)(int, void*);
  void* argument;
};

struct Handlers {
  Handler* all;
  std::size_t count, room;

  int add(const Handler& handler) {
    if (count == room) {
      room = room ? 2 * room : 32;
      auto* grown = static_cast<Handler*>(std::malloc(room * sizeof(Handler)));
      if (!grown) return -1;
      for (std::size_t i = 0; i < count; i++) grown[i] = all[i];
      std::free(all);
      all = grown;
    }
    all[count++] = handler;
    return 0;
  }
  // The last first, and those that one of them adds.
  void run(int code) {
    while (count) {
      const Handler handler = all[--count];
      if (handler.plain) warploom_process::checked(handler.plain)(handler.argument);
      if (handler.with_code) warploom_process::checked(handler.with_code)(code, handler.argument);
    }
  }
};

// Constructors of the program use them: they need none themselves.
Handlers g_at_exit, g_at_quick_exit;

// Functions with the destructor attribute.
void run_fini_functions() {
  unsigned long count = 0;
  void (**functions)() = warploom_fini_functions(&count);
  while (count) warploom_process::checked(functions[--count])();
}

}  // namespace

extern "C" {

// Also of static objects, whose destructors run at exit.
int __cxa_atexit(void (*function)(void*), void* argument, void*) noexcept {
  return g_at_exit.add({function, nullptr, argument});
}
int __cxa_at_quick_exit(void (*function)(void*), void*) noexcept {
  return g_at_quick_exit.add({function, nullptr, nullptr});
}
int on_exit(void (*function)(int, void*), void* argument) noexcept {
  return g_at_exit.add({nullptr, function, argument});
}

[[noreturn]] void exit(int code) noexcept {
  warploom_process::end_thread_locals();
  g_at_exit.run(code);
  run_fini_functions();
  warploom_end_process(code);
}
[[noreturn]] void quick_exit(int code) noexcept {
  g_at_quick_exit.run(code);
  warploom_end_process(code);
}
[[noreturn]] void _exit(int code) { warploom_end_process(code); }
[[noreturn]] void _Exit(int code) noexcept { warploom_end_process(code); }
[[noreturn]] void abort() noexcept { warploom_process::abort_by_signal(); }

}  // extern "C"
