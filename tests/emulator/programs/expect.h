// Checks for the programs below: says what was expected where, and counts failures.
#pragma once
#include <cstdio>

static int failures = 0;
#define EXPECT(condition)                                                    \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);   \
      failures++;                                                            \
    }                                                                        \
  } while (0)
#define CUDA(call) EXPECT((call) == cudaSuccess)
