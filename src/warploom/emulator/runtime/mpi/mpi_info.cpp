// Info objects (MPI_Info): kept for who asks for them; MPI lets a library pass over any of them.
#include <algorithm>
#include <cstring>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

struct Info {
  const Process* owner = nullptr;
  std::map<std::string, std::string> values;
  bool freed = false;
};
std::vector<Info> g_infos;  // by the number of their handle, less one

Info& info_of(MPI_Info info, const char* what) {
  Info* found = named_by(info, kInfos, g_infos);
  require(found, what, "the object is MPI_INFO_NULL or does not exist");
  require(found->owner == &current_process() && !found->freed, what,
          "the object was freed, or is another process's");
  return *found;
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Info_create(MPI_Info* info) {
  require(info != nullptr, "MPI_Info_create", "the result's address must not be NULL");
  g_infos.push_back({&current_process(), {}, false});
  *info = kInfos + static_cast<int>(g_infos.size());
  return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char* key, const char* value) {
  constexpr const char* kName = "MPI_Info_set";
  Info& hints = info_of(info, kName);
  require(key && *key && std::strlen(key) < MPI_MAX_INFO_KEY, kName,
          "the key must have 1 to MPI_MAX_INFO_KEY - 1 characters");
  require(value && std::strlen(value) < MPI_MAX_INFO_VAL, kName,
          "the value must have less than MPI_MAX_INFO_VAL characters");
  hints.values[key] = value;
  return MPI_SUCCESS;
}

int MPI_Info_get(MPI_Info info, const char* key, int most, char* value, int* flag) {
  constexpr const char* kName = "MPI_Info_get";
  const Info& hints = info_of(info, kName);
  require(key && value && flag, kName, "a pointer is NULL");
  const auto found = hints.values.find(key);
  *flag = found != hints.values.end();
  if (!*flag) return MPI_SUCCESS;
  const std::size_t length =
      std::min(found->second.size(), static_cast<std::size_t>(std::max(most, 0)));
  std::memcpy(value, found->second.data(), length);
  value[length] = 0;
  return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info* info) {
  require(info != nullptr, "MPI_Info_free", "the object's address must not be NULL");
  info_of(*info, "MPI_Info_free").freed = true;
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"
