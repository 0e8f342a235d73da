// The fake runtime enters here.
extern "C" int wl_user_main(int, char**, char**) __asm__("main");

extern "C" int warploom_main(int argc, char** argv) {
  static char* environment[] = {nullptr};
  return wl_user_main(argc, argv, environment);
}
