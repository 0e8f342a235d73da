// The runtime enters here.
#include <cstdlib>

extern char** environ;
extern "C" int wl_user_main(int, char**, char**) __asm__("main");
extern "C" __attribute__((weak)) void warploom_loaded(const void*);

// Before the program's own constructors.
static void wl_loaded() {
  if (warploom_loaded) warploom_loaded(reinterpret_cast<const void*>(&wl_loaded));
}
__attribute__((section(".init_array.00000"), used)) static void (*wl_first)() = wl_loaded;

extern "C" int warploom_main(int argc, char** argv) {
  std::exit(wl_user_main(argc, argv, environ));
}
