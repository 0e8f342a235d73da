// The environment of one process per rank: what a launcher would tell each process about itself.
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>

#include "world.h"

namespace warploom {

namespace {

// By mpirun of Open MPI and MPICH, srun, and torchrun. All ranks are on one node.
const char* const kRankNames[] = {"OMPI_COMM_WORLD_RANK",
                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                  "PMI_RANK",
                                  "MPI_LOCALRANKID",
                                  "SLURM_PROCID",
                                  "SLURM_LOCALID",
                                  "RANK",
                                  "LOCAL_RANK"};
const char* const kRanksNames[] = {"OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_SIZE",
                                   "PMI_SIZE",
                                   "MPI_LOCALNRANKS",
                                   "SLURM_NTASKS",
                                   "SLURM_NPROCS",
                                   "WORLD_SIZE",
                                   "LOCAL_WORLD_SIZE"};

template <std::size_t N>
bool is_one_of(const char* name, const char* const (&names)[N]) {
  for (const char* known : names) {
    if (std::strcmp(name, known) == 0) return true;
  }
  return false;
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
    if (is_one_of(name, kRanksNames)) return number(g_config.ranks);
  }
  const std::size_t length = std::strlen(name);
  for (char** entry = environ; entry && *entry; entry++) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}
