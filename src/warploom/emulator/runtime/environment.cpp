// What a launcher and the system would tell each process about itself.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "world.h"

namespace warploom {

namespace {

// By mpirun of Open MPI and MPICH, srun, and torchrun.
const char* const kRankNames[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"};
const char* const kRanksNames[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS",
                                   "SLURM_NPROCS", "WORLD_SIZE"};
const char* const kLocalRankNames[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                       "SLURM_LOCALID", "LOCAL_RANK"};
const char* const kLocalRanksNames[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "LOCAL_WORLD_SIZE"};

template <std::size_t N>
bool is_one_of(const char* name, const char* const (&names)[N]) {
  for (const char* known : names) {
    if (std::strcmp(name, known) == 0) return true;
  }
  return false;
}

// Of the processes on the running one's machine, how many there are and which it is.
struct Neighbours {
  int rank = 0, count = 0;
};
Neighbours neighbours() {
  const Process& own = current_process();
  Neighbours found;
  for (const auto& process : g_processes) {
    if (machine_of(*process) != machine_of(own)) continue;
    found.count++;
    if (process->rank < own.rank) found.rank++;
  }
  return found;
}

char* number(int value) {
  static std::map<int, std::string> texts;  // the caller may keep what it gets
  return texts.try_emplace(value, std::to_string(value)).first->second.data();
}

}  // namespace

}  // namespace warploom

// Takes the place of the C library's in the program, which is one of many in this process.
extern "C" char* getenv(const char* name) noexcept {
  using namespace warploom;
  if (g_current && g_current->process && !g_config.single_process) {
    if (is_one_of(name, kRankNames)) return number(g_current->process->rank);
    if (is_one_of(name, kRanksNames)) return number(static_cast<int>(g_processes.size()));
    if (is_one_of(name, kLocalRankNames)) return number(neighbours().rank);
    if (is_one_of(name, kLocalRanksNames)) return number(neighbours().count);
  }
  const std::size_t length = std::strlen(name);
  for (char** entry = environ; entry && *entry; entry++) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}

// The emulated machine's name: programs count the ranks that share one by it.
extern "C" int gethostname(char* name, std::size_t length) noexcept {
  const std::string own = warploom::machine_name();
  if (own.size() >= length) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(name, own.c_str(), own.size() + 1);
  return 0;
}
