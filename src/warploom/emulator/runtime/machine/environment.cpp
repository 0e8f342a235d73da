// What a launcher and the system would tell each process about itself.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "host/libc_made.h"
#include "host/process_heap.h"
#include "host/program_range.h"
#include "machine/world.h"
#include "report/report.h"

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

// Of the processes on the running one's machine, how many there are and which it is.
struct Neighbors {
  int rank = 0, count = 0;
};
Neighbors neighbors() {
  const Process& own = current_process();
  Neighbors found;
  for (const auto& process : g_processes) {
    if (machine_of(*process) != machine_of(own)) continue;
    found.count++;
    if (process->rank < own.rank) found.rank++;
  }
  return found;
}

// Is `entry` the variable `name`?
bool is_variable(const char* entry, const char* name) {
  const std::size_t length = std::strlen(name);
  return std::strncmp(entry, name, length) == 0 && entry[length] == '=';
}

template <std::size_t N>
bool is_one_of(const char* entry, const char* const (&names)[N]) {
  return std::ranges::any_of(names, [&](const char* name) { return is_variable(entry, name); });
}

bool launchers_own(const char* entry) {
  return is_one_of(entry, kRankNames) || is_one_of(entry, kRanksNames) ||
         is_one_of(entry, kLocalRankNames) || is_one_of(entry, kLocalRanksNames);
}

template <std::size_t N>
void add(std::vector<std::string>& entries, const char* const (&names)[N], int value) {
  for (const char* name : names) entries.push_back(format("%s=%d", name, value));
}

}  // namespace

// As the job was started.
static char** const g_first_environment = environ;

// In one block of the process's own memory, which it may change and keeps to its end.
void create_environment(Process& process) {
  std::vector<std::string> entries;
  for (char** entry = g_first_environment; entry && *entry; entry++) {
    if (g_config.single_process || !launchers_own(*entry)) entries.emplace_back(*entry);
  }
  if (!g_config.single_process) {
    add(entries, kRankNames, process.rank);
    add(entries, kRanksNames, static_cast<int>(g_processes.size()));
    add(entries, kLocalRankNames, neighbors().rank);
    add(entries, kLocalRanksNames, neighbors().count);
  }
  std::size_t bytes = (entries.size() + 1) * sizeof(char*);
  for (const std::string& entry : entries) bytes += entry.size() + 1;
  auto* pointers = static_cast<char**>(program_memory(bytes));
  pointers[entries.size()] = nullptr;
  char* text = reinterpret_cast<char*>(pointers + entries.size() + 1);
  for (std::size_t i = 0; i < entries.size(); i++) {
    pointers[i] = text;
    std::memcpy(text, entries[i].c_str(), entries[i].size() + 1);
    text += entries[i].size() + 1;
  }
  environ = pointers;
}

}  // namespace warploom

static int tell_machine(char* name, std::size_t length, const void* caller) {
  const std::string own = warploom::machine_name();
  if (own.size() >= length) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (warploom::of_program(caller)) warploom::program_writes(name, own.size() + 1, caller);
  std::memcpy(name, own.c_str(), own.size() + 1);
  return 0;
}

extern "C" {

// The emulated machine's name: programs count the ranks that share one by it.
int gethostname(char* name, std::size_t length) noexcept {
  return tell_machine(name, length, __builtin_return_address(0));
}
// Of hardened libraries: see libc_files.cpp.
int __gethostname_chk(char* name, std::size_t length, std::size_t) noexcept {
  return tell_machine(name, length, __builtin_return_address(0));
}

}  // extern "C"
