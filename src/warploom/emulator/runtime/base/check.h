// Checks of the runtime's own invariants. They cost nothing in the build that users have; with
// WARPLOOM_RUNTIME_CHECKS=1 in the environment the runtime is built with them, and one that does
// not hold ends the run at once.
#pragma once

#ifdef WARPLOOM_RUNTIME_CHECKS

#include <cstdio>
#include <cstdlib>

namespace warploom {
[[noreturn, gnu::cold, gnu::noinline]] inline void invariant_broken(const char* what,
                                                                    const char* file, int line) {
  std::fprintf(stderr, "warploom-emu: %s:%d: %s does not hold\n", file, line, what);
  std::abort();
}
}  // namespace warploom

#define WARPLOOM_INVARIANT(condition) \
  ((condition) ? void() : ::warploom::invariant_broken(#condition, __FILE__, __LINE__))
#else
#define WARPLOOM_INVARIANT(condition) void()
#endif
