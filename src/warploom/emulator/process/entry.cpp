// The runtime enters here.
#include <cstdlib>

extern char** environ;
extern "C" int wl_user_main(int, char**, char**) __asm__("main");

extern "C" int warploom_main(int argc, char** argv) {
  std::exit(wl_user_main(argc, argv, environ));
}
