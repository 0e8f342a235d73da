// What a run was asked for: the command line of the emulator, read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warploom {

enum class NetTiming { Eager, Lazy, Random };

// In pages of its own: it is read-only once the program runs.
struct alignas(4096) Config {
  int ranks = 4;
  int lsa_size = 4;
  bool single_process = false;
  int processes = 0;  // that share the devices; 0: one for each
  int node_size = 0;  // devices of one machine; 0: one machine has them all
  uint64_t seed = 0;
  uint32_t fresh_word = 0xFFF7FFF7;  // what memory holds that nobody has written
  // Places (program offsets) whose reads of such memory get another word instead.
  std::vector<uint32_t> fresh_sites;
  uint32_t fresh_other = 0;
  bool stale = false;             // look for reads that a GPU may answer with an older value
  bool stale_by_updates = false;  // that only read-modify-writes make
  // Places whose reads get an older value where that is allowed, or every n-th one of these reads.
  std::vector<uint32_t> stale_sites;
  uint64_t stale_every = 1;
  NetTiming timing = NetTiming::Eager;
  bool race = true;
  bool readbacks = true;
  bool sync_launches = false;
  bool input_to_first = false;  // standard input is the first process's, as under mpirun
  int nccl_version = 23203;
  std::size_t device_memory = std::size_t{4} << 30;  // that a device says it has
  std::size_t device_most = 0;                       // that it gives, if that is more
  // Records of single cells in whole, bytes; the others are shortened.
  std::size_t whole_history = std::size_t{1} << 30;
  int max_findings = 100;
  double time_limit = 0;  // seconds of real time; 0: none
  std::size_t trace = 0;  // events kept for each rank; 0: none
};
extern Config g_config;

}  // namespace warploom
