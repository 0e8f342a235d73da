// Groups of processes, from which communicators are made.
#include <algorithm>

#include "mpi/mpi_windows.h"

namespace warploom::mpi {

namespace {

std::vector<std::vector<int>>
    g_groups;  // ranks in MPI_COMM_WORLD, by the number of their handle, less one

int make_group(std::vector<int> ranks, MPI_Group* out) {
  g_groups.push_back(std::move(ranks));
  *out = kGroups + static_cast<int>(g_groups.size());
  return MPI_SUCCESS;
}

// Where the caller is in a list, or MPI_UNDEFINED.
int place_in(const std::vector<int>& ranks) {
  const auto found = std::find(ranks.begin(), ranks.end(), current_process().rank);
  return found == ranks.end() ? MPI_UNDEFINED : static_cast<int>(found - ranks.begin());
}

}  // namespace

const std::vector<int>& members_of(MPI_Group group, const char* what) {
  static const std::vector<int> none;
  if (group == MPI_GROUP_EMPTY) return none;
  const auto* known = named_by(group, kGroups, g_groups);
  require(known, what, "the group does not exist");
  return *known;
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Comm_group(MPI_Comm comm, MPI_Group* out) {
  return make_group(enter(comm, "MPI_Comm_group").comm->world, out);
}

int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* out) {
  const std::vector<int> all = members_of(group, "MPI_Group_incl");
  std::vector<int> chosen;
  for (int i = 0; i < count; i++) {
    require(ranks[i] >= 0 && ranks[i] < static_cast<int>(all.size()), "MPI_Group_incl",
            "the rank is not in the group");
    chosen.push_back(all[static_cast<std::size_t>(ranks[i])]);
  }
  return make_group(std::move(chosen), out);
}

int MPI_Group_excl(MPI_Group group, int count, const int* ranks, MPI_Group* out) {
  const std::vector<int> all = members_of(group, "MPI_Group_excl");
  std::vector<int> left;
  for (int i = 0; i < static_cast<int>(all.size()); i++) {
    if (std::find(ranks, ranks + count, i) == ranks + count) {
      left.push_back(all[static_cast<std::size_t>(i)]);
    }
  }
  return make_group(std::move(left), out);
}

int MPI_Group_size(MPI_Group group, int* size) {
  *size = static_cast<int>(members_of(group, "MPI_Group_size").size());
  return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int* rank) {
  *rank = place_in(members_of(group, "MPI_Group_rank"));
  return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group* group) {
  members_of(*group, "MPI_Group_free");
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out) {
  const int place = place_in(members_of(group, "MPI_Comm_create"));
  return split(comm, place == MPI_UNDEFINED ? MPI_UNDEFINED : 0, std::max(place, 0), out,
               "MPI_Comm_create");
}

}  // extern "C"
