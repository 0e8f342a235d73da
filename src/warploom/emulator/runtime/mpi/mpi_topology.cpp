// Grids of processes: a communicator whose ranks have coordinates, the last one running fastest.
#include <algorithm>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

struct Grid {
  std::vector<int> sizes;
  std::vector<bool> periodic;
};
std::map<int, Grid> g_grids;  // by communicator

const Grid& grid_of(const Place& place, const char* what) {
  const auto found = g_grids.find(place.comm->handle);
  require(found != g_grids.end(), what, "the communicator is not from MPI_Cart_create");
  return found->second;
}

std::vector<int> coordinates(const Grid& grid, int rank) {
  std::vector<int> result(grid.sizes.size());
  for (std::size_t i = grid.sizes.size(); i-- > 0;) {
    result[i] = rank % grid.sizes[i];
    rank /= grid.sizes[i];
  }
  return result;
}

// MPI_PROC_NULL past an edge that is not periodic.
int rank_at(const Grid& grid, const std::vector<int>& place) {
  int rank = 0;
  for (std::size_t i = 0; i < place.size(); i++) {
    const int size = grid.sizes[i];
    if (!grid.periodic[i] && (place[i] < 0 || place[i] >= size)) return MPI_PROC_NULL;
    rank = rank * size + (place[i] % size + size) % size;
  }
  return rank;
}

// As even as can be: the largest prime factors first, each to the smallest size so far.
std::vector<int> even_sizes(int ranks, int free) {
  std::vector<int> factors;
  for (int prime = 2; ranks > 1; prime++) {
    for (; ranks % prime == 0; ranks /= prime) factors.push_back(prime);
  }
  std::vector<int> sizes(static_cast<std::size_t>(free), 1);
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    *std::min_element(sizes.begin(), sizes.end()) *= *factor;
  }
  std::sort(sizes.rbegin(), sizes.rend());
  return sizes;
}

}  // namespace

std::size_t dimensions_of(MPI_Comm handle) {
  const auto found = g_grids.find(handle);
  return found == g_grids.end() ? 0 : found->second.sizes.size();
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Dims_create(int ranks, int dimensions, int* sizes) {
  int given = 1, free = 0;
  for (int i = 0; i < dimensions; i++) {
    require(sizes[i] >= 0, "MPI_Dims_create", "a size must not be negative");
    if (sizes[i] > 0) given *= sizes[i];
    free += sizes[i] == 0;
  }
  require(ranks > 0 && ranks % given == 0 && (free > 0 || ranks == given), "MPI_Dims_create",
          "the sizes that are given must divide the number of ranks");
  if (free == 0) return MPI_SUCCESS;
  const std::vector<int> chosen = even_sizes(ranks / given, free);
  auto next = chosen.begin();
  for (int i = 0; i < dimensions; i++) {
    if (sizes[i] == 0) sizes[i] = *next++;
  }
  return MPI_SUCCESS;
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int,
                    MPI_Comm* out) {
  constexpr const char* kName = "MPI_Cart_create";
  const Place place = enter(comm, kName);
  require(dimensions > 0 && sizes && periods, kName, "there must be a dimension");
  Grid grid;
  int ranks = 1;
  for (int i = 0; i < dimensions; i++) {
    require(sizes[i] > 0, kName, "a size must be positive");
    grid.sizes.push_back(sizes[i]);
    grid.periodic.push_back(periods[i] != 0);
    ranks *= sizes[i];
  }
  require(ranks <= place.comm->size(), kName, "the grid has more places than there are ranks");
  split(comm, place.rank < ranks ? 0 : MPI_UNDEFINED, place.rank, out, kName);
  if (*out != MPI_COMM_NULL) g_grids[*out] = std::move(grid);
  return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int* kept, MPI_Comm* out) {
  constexpr const char* kName = "MPI_Cart_sub";
  const Place place = enter(comm, kName);
  const Grid grid = grid_of(place, kName);
  const std::vector<int> own = coordinates(grid, place.rank);
  Grid part;
  int color = 0, key = 0;
  for (std::size_t i = 0; i < own.size(); i++) {
    int& number = kept[i] ? key : color;
    number = number * grid.sizes[i] + own[i];
    if (!kept[i]) continue;
    part.sizes.push_back(grid.sizes[i]);
    part.periodic.push_back(grid.periodic[i]);
  }
  split(comm, color, key, out, kName);
  g_grids[*out] = std::move(part);
  return MPI_SUCCESS;
}

int MPI_Cartdim_get(MPI_Comm comm, int* dimensions) {
  const Place place = enter(comm, "MPI_Cartdim_get");
  *dimensions = static_cast<int>(grid_of(place, "MPI_Cartdim_get").sizes.size());
  return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm comm, int most, int* sizes, int* periods, int* place_of_caller) {
  const Place place = enter(comm, "MPI_Cart_get");
  const Grid& grid = grid_of(place, "MPI_Cart_get");
  const std::vector<int> own = coordinates(grid, place.rank);
  for (std::size_t i = 0; i < own.size() && static_cast<int>(i) < most; i++) {
    sizes[i] = grid.sizes[i];
    periods[i] = grid.periodic[i];
    place_of_caller[i] = own[i];
  }
  return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int* result) {
  constexpr const char* kName = "MPI_Cart_coords";
  const Place place = enter(comm, kName);
  require(rank >= 0 && rank < place.comm->size(), kName, "the rank is not in the communicator");
  const std::vector<int> found = coordinates(grid_of(place, kName), rank);
  for (std::size_t i = 0; i < found.size() && static_cast<int>(i) < most; i++) result[i] = found[i];
  return MPI_SUCCESS;
}

int MPI_Cart_rank(MPI_Comm comm, const int* at_place, int* rank) {
  constexpr const char* kName = "MPI_Cart_rank";
  const Place place = enter(comm, kName);
  const Grid& grid = grid_of(place, kName);
  *rank = rank_at(grid, {at_place, at_place + grid.sizes.size()});
  require(*rank != MPI_PROC_NULL, kName, "the place lies outside of the grid");
  return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int dimension, int steps, int* source, int* destination) {
  constexpr const char* kName = "MPI_Cart_shift";
  const Place place = enter(comm, kName);
  const Grid& grid = grid_of(place, kName);
  require(dimension >= 0 && dimension < static_cast<int>(grid.sizes.size()), kName,
          "the grid has no such dimension");
  std::vector<int> from = coordinates(grid, place.rank), to = from;
  from[static_cast<std::size_t>(dimension)] -= steps;
  to[static_cast<std::size_t>(dimension)] += steps;
  *source = rank_at(grid, from);
  *destination = rank_at(grid, to);
  return MPI_SUCCESS;
}

}  // extern "C"
