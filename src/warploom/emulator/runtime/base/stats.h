// Counters that the end line of the report carries.
#pragma once

namespace warploom {

struct Stats {
  unsigned long long switches = 0, threads = 0, kernels = 0, puts = 0;
  unsigned long long accesses = 0;    // less those of the present turn: see accesses_made
  unsigned long long looks = 0;       // of these: atomic and volatile ones that read
  unsigned long long operations = 0;  // of GPU threads, as counted in the text of timed builds
  // What the instructions of GPU threads compute in timed builds, and what of that no text told.
  unsigned long long tallied = 0, untold_operations = 0;
  unsigned long long stream_ops = 0;  // that have ended
  // How data went from rank to rank, in bytes; `host_calls` counts collectives, sends, receives.
  unsigned long long put_bytes = 0, peer_bytes = 0;
  unsigned long long host_calls = 0, host_bytes = 0, copied_bytes = 0, staged_bytes = 0,
                     mpi_bytes = 0;
  unsigned long long polled_bytes = 0;      // of peer_bytes: by atomic and volatile loads
  unsigned long long typed_bytes[16] = {};  // host_bytes by ncclDataType_t
};
extern Stats g_stats;

// Plain accesses of GPU threads are counted down, until others may have their turn.
constexpr int kAccessesInTurn = 1 << 16;
extern int g_accesses_left;
// Of GPU threads, and of hosts to memory that devices can reach; plain or atomic.
inline unsigned long long accesses_made() {
  return g_stats.accesses + static_cast<unsigned long long>(kAccessesInTurn - g_accesses_left);
}

double seconds_since_start();

}  // namespace warploom
