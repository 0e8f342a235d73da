// Counters that the end line of the report carries.
#pragma once

namespace warploom {

struct Stats {
  unsigned long long switches = 0, threads = 0, kernels = 0, accesses = 0, puts = 0;
  // How data went from rank to rank, in bytes; `host_calls` counts collectives, sends, receives.
  unsigned long long put_bytes = 0, peer_bytes = 0;
  unsigned long long host_calls = 0, host_bytes = 0, copied_bytes = 0, staged_bytes = 0,
                     mpi_bytes = 0;
};
extern Stats g_stats;

double seconds_since_start();

}  // namespace warploom
