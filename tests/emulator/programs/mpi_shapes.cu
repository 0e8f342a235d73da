// Grids and groups of processes, and data types with gaps, of host and device memory.
#include <mpi.h>
#include <cuda/ptx>
#include <nvtx3/nvtx3.hpp>

#include <cstddef>
#include <vector>

#include "expect.h"

#define MPI(call) EXPECT((call) == MPI_SUCCESS)

static int rank, ranks;

__global__ void number(int* p) {
  p[threadIdx.x] = threadIdx.x;
  cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
}

static void sizes_of_grids() {
  const auto sizes = [](int count, std::vector<int> given) {
    MPI(MPI_Dims_create(count, static_cast<int>(given.size()), given.data()));
    return given;
  };
  EXPECT((sizes(6, {0, 0}) == std::vector<int>{3, 2}));
  EXPECT((sizes(16, {0, 0}) == std::vector<int>{4, 4}));
  EXPECT((sizes(24, {0, 2, 0}) == std::vector<int>{4, 2, 3}));
  EXPECT((sizes(7, {0, 0, 0}) == std::vector<int>{7, 1, 1}));
}

static void grids() {
  const int sizes[2] = {ranks, 1}, periods[2] = {1, 0};
  MPI_Comm grid, row;
  MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid));
  int place[2], got[2], wrap[2], found, before, after, dimensions;
  MPI(MPI_Cart_coords(grid, rank, 2, place));
  EXPECT(place[0] == rank && place[1] == 0);
  MPI(MPI_Cart_rank(grid, place, &found));
  EXPECT(found == rank);
  MPI(MPI_Cart_shift(grid, 0, 1, &before, &after));
  EXPECT(before == (rank + ranks - 1) % ranks && after == (rank + 1) % ranks);
  int from = -1;
  MPI(MPI_Sendrecv(&rank, 1, MPI_INT, after, 0, &from, 1, MPI_INT, before, 0, grid,
                   MPI_STATUS_IGNORE));
  EXPECT(from == before);
  MPI(MPI_Cart_shift(grid, 1, 1, &before, &after));
  EXPECT(before == MPI_PROC_NULL && after == MPI_PROC_NULL);
  MPI(MPI_Cartdim_get(grid, &dimensions));
  MPI(MPI_Cart_get(grid, 2, got, wrap, place));
  EXPECT(dimensions == 2 && got[0] == ranks && got[1] == 1 && wrap[0] == 1 && wrap[1] == 0);
  const int kept[2] = {0, 1};
  MPI(MPI_Cart_sub(grid, kept, &row));
  MPI(MPI_Comm_size(row, &found));
  EXPECT(found == 1);
  MPI(MPI_Comm_free(&row));
  MPI(MPI_Comm_free(&grid));
}

static void groups() {
  MPI_Group all, rest;
  const int first = 0;
  int size, place;
  MPI(MPI_Comm_group(MPI_COMM_WORLD, &all));
  MPI(MPI_Group_excl(all, 1, &first, &rest));
  MPI(MPI_Group_size(rest, &size));
  MPI(MPI_Group_rank(rest, &place));
  EXPECT(size == ranks - 1 && place == (rank == 0 ? MPI_UNDEFINED : rank - 1));
  MPI_Comm comm;
  MPI(MPI_Comm_create(MPI_COMM_WORLD, rest, &comm));
  EXPECT((comm == MPI_COMM_NULL) == (rank == 0));
  int sum = 0;
  if (comm != MPI_COMM_NULL) {
    MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    EXPECT(sum == ranks * (ranks - 1) / 2);
    MPI(MPI_Comm_free(&comm));
  }
  MPI(MPI_Group_free(&rest));
  MPI(MPI_Group_free(&all));
}

// One message to oneself: what of `type` is sent arrives as a row of integers.
static std::vector<int> row_of(const void* p, int count, MPI_Datatype type) {
  int bytes;
  MPI(MPI_Type_size(type, &bytes));
  std::vector<int> row(static_cast<std::size_t>(count * bytes) / sizeof(int), -1);
  MPI_Request request;
  MPI(MPI_Isend(p, count, type, rank, 7, MPI_COMM_WORLD, &request));
  MPI(MPI_Recv(row.data(), static_cast<int>(row.size()), MPI_INT, rank, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE));
  MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return row;
}

static void types() {
  int* p;
  CUDA(cudaMalloc(&p, 24 * sizeof(int)));
  number<<<1, 24>>>(p);
  CUDA(cudaDeviceSynchronize());
  MPI_Datatype column, two, some, block, wide;
  MPI(MPI_Type_vector(4, 1, 6, MPI_INT, &column));  // of a matrix of 4 rows and 6 columns
  MPI(MPI_Type_commit(&column));
  EXPECT((row_of(p + 2, 1, column) == std::vector<int>{2, 8, 14, 20}));
  MPI(MPI_Type_create_resized(column, 0, sizeof(int), &two));
  MPI(MPI_Type_commit(&two));
  EXPECT((row_of(p, 2, two) == std::vector<int>{0, 6, 12, 18, 1, 7, 13, 19}));
  const int lengths[] = {2, 1}, starts[] = {5, 1};
  MPI(MPI_Type_indexed(2, lengths, starts, MPI_INT, &some));
  MPI(MPI_Type_commit(&some));
  EXPECT((row_of(p, 1, some) == std::vector<int>{5, 6, 1}));
  const int sizes[] = {4, 6}, parts[] = {2, 3}, at[] = {1, 2};
  MPI(MPI_Type_create_subarray(2, sizes, parts, at, MPI_ORDER_C, MPI_INT, &block));
  MPI(MPI_Type_commit(&block));
  EXPECT((row_of(p, 1, block) == std::vector<int>{8, 9, 10, 14, 15, 16}));
  MPI_Aint low, extent;
  MPI(MPI_Type_get_extent(block, &low, &extent));
  EXPECT(low == 0 && extent == 24 * sizeof(int));
  MPI(MPI_Type_create_hvector(2, 2, 8 * sizeof(int), MPI_INT, &wide));
  MPI(MPI_Type_commit(&wide));
  EXPECT((row_of(p, 1, wide) == std::vector<int>{0, 1, 8, 9}));

  // To all others' columns, and nothing beside them.
  int matrix[24];
  for (int i = 0; i < 24; i++) matrix[i] = rank == 0 ? 50 + i : i;
  MPI(MPI_Bcast(matrix + 3, 1, column, 0, MPI_COMM_WORLD));
  for (int i = 0; i < 24; i++) EXPECT(matrix[i] == (rank == 0 || i % 6 == 3 ? 50 + i : i));
  for (int i = 0; i < 24; i++) matrix[i] = rank == 0 ? 80 + i : i;
  MPI_Request given;
  MPI(MPI_Ibcast(matrix, 2, two, 0, MPI_COMM_WORLD, &given));
  MPI(MPI_Wait(&given, MPI_STATUS_IGNORE));
  for (int i = 0; i < 24; i++) EXPECT(matrix[i] == (rank == 0 || i % 6 < 2 ? 80 + i : i));

  // Into a column, and nothing beside it.
  const int values[4] = {100, 101, 102, 103};
  int host[24];
  MPI_Request request;
  MPI(MPI_Irecv(p + 1, 1, column, rank, 8, MPI_COMM_WORLD, &request));
  MPI(MPI_Send(values, 4, MPI_INT, rank, 8, MPI_COMM_WORLD));
  MPI(MPI_Type_free(&column));  // once nothing uses it
  MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 24; i++) EXPECT(host[i] == (i % 6 == 1 ? 100 + i / 6 : i));
  for (MPI_Datatype* type : {&two, &some, &block, &wide}) MPI(MPI_Type_free(type));
  CUDA(cudaFree(p));

  struct Cell {
    double value;
    int where;
  } cells[2] = {{0.5, 1}, {1.5, 2}}, got[2] = {};
  const int ones[] = {1, 1};
  const MPI_Aint places[] = {offsetof(Cell, value), offsetof(Cell, where)};
  const MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype cell;
  MPI(MPI_Type_create_struct(2, ones, places, kinds, &cell));
  MPI(MPI_Type_commit(&cell));
  MPI(MPI_Sendrecv(cells, 2, cell, rank, 9, got, 2, cell, rank, 9, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE));
  EXPECT(got[1].value == 1.5 && got[1].where == 2);
  MPI(MPI_Type_free(&cell));
}

int main(int argc, char** argv) {
  nvtx3::scoped_range range{"all"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  sizes_of_grids();
  grids();
  groups();
  types();
  MPI_Finalize();
  return failures != 0;
}
