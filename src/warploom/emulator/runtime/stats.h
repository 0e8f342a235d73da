// Counters that the end line of the report carries.
#pragma once

namespace warploom {

struct Stats {
  unsigned long long switches = 0, threads = 0, kernels = 0, accesses = 0, puts = 0;
};
extern Stats g_stats;

double seconds_since_start();

}  // namespace warploom
