// Operations of the program's own, packed data, and rarer collectives and sends.
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "expect.h"

#define MPI(call) EXPECT((call) == MPI_SUCCESS)

struct Affine {  // x -> scale * x + shift: its composition does not commute
  long scale, shift;
};

static int rank, ranks, called;

static void compose(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* first = static_cast<const Affine*>(in);
  auto* second = static_cast<Affine*>(inout);
  for (int i = 0; i < *length; i++) {
    second[i] = {first[i].scale * second[i].scale,
                 second[i].scale * first[i].shift + second[i].shift};
  }
  called++;
}

static void largest(void* in, void* inout, int* length, MPI_Datatype* type) {
  EXPECT(*type == MPI_INT);
  for (int i = 0; i < *length; i++) {
    int& kept = static_cast<int*>(inout)[i];
    kept = std::max(kept, static_cast<int*>(in)[i]);
  }
}

static void operations() {
  MPI_Datatype affine;
  MPI(MPI_Type_contiguous(2, MPI_LONG, &affine));
  MPI(MPI_Type_commit(&affine));
  MPI_Op op, most;
  int commutes;
  MPI(MPI_Op_create(compose, 0, &op));
  MPI(MPI_Op_create(largest, 1, &most));
  MPI(MPI_Op_commutative(op, &commutes));
  EXPECT(commutes == 0);

  const Affine mine[2] = {{2, rank}, {3, 1}};
  Affine all[2], expected[2] = {{2, 0}, {3, 1}};
  for (int r = 1; r < ranks; r++) {
    expected[0] = {2 * expected[0].scale, 2 * expected[0].shift + r};
    expected[1] = {3 * expected[1].scale, 3 * expected[1].shift + 1};
  }
  MPI(MPI_Allreduce(mine, all, 2, affine, op, MPI_COMM_WORLD));
  for (int i = 0; i < 2; i++) {
    EXPECT(all[i].scale == expected[i].scale && all[i].shift == expected[i].shift);
  }
  EXPECT(called == ranks - 1);

  int value = rank % 3, greatest = -1;
  MPI(MPI_Reduce(&value, &greatest, 1, MPI_INT, most, 0, MPI_COMM_WORLD));
  if (rank == 0) EXPECT(greatest == std::min(ranks - 1, 2));
  // Only the root's receive buffer has a meaning: elsewhere it may be anything.
  void* nowhere = reinterpret_cast<void*>(0x10);
  int* everybody = nullptr;
  std::vector<int> gathered(ranks);
  if (rank == 0) everybody = gathered.data();
  void* buffer = rank == 0 ? everybody : nowhere;
  MPI(MPI_Gather(&value, 1, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_WORLD));
  MPI(MPI_Reduce(&value, rank == 0 ? &greatest : nowhere, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
  for (int r = 0; r < ranks && rank == 0; r++) EXPECT(gathered[r] == r % 3);
  int other = 7;
  MPI(MPI_Reduce_local(&value, &other, 1, MPI_INT, most));
  EXPECT(other == 7);
  MPI(MPI_Reduce_local(&value, &other, 1, MPI_INTEGER, MPI_SUM));
  EXPECT(other == 7 + value);
  MPI(MPI_Op_free(&op));
  MPI(MPI_Op_free(&most));
  EXPECT(op == MPI_OP_NULL);
  MPI(MPI_Type_free(&affine));

  // Rank r gets r + 1 of the sums.
  std::vector<int> counts, given;
  for (int r = 0; r < ranks; r++) counts.push_back(r + 1);
  for (int i = 0; i < ranks * (ranks + 1) / 2; i++) given.push_back(i + rank);
  std::vector<int> got(rank + 1, -1);
  MPI(MPI_Reduce_scatter(given.data(), got.data(), counts.data(), MPI_INT, MPI_SUM,
                         MPI_COMM_WORLD));
  for (int i = 0; i <= rank; i++) {
    EXPECT(got[i] == ranks * (rank * (rank + 1) / 2 + i) + ranks * (ranks - 1) / 2);
  }
}

static void later() {
  std::vector<int> sizes, starts, mine(rank + 1, rank), all(ranks * (ranks + 1) / 2, -1);
  for (int r = 0; r < ranks; r++) {
    starts.push_back(r * (r + 1) / 2);
    sizes.push_back(r + 1);
  }
  MPI_Request requests[2];
  MPI(MPI_Iallgatherv(mine.data(), rank + 1, MPI_INT, all.data(), sizes.data(), starts.data(),
                      MPI_INT, MPI_COMM_WORLD, &requests[0]));
  const double half = rank + 0.5;
  double sum = 0;
  MPI(MPI_Ireduce(&half, &sum, 1, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD, &requests[1]));
  MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int r = 0, i = 0; r < ranks; r++) {
    for (int k = 0; k <= r; k++, i++) EXPECT(all[i] == r);
  }
  if (rank == ranks - 1) EXPECT(sum == ranks * ranks / 2.0);
}

// What one rank packs, parts with gaps too, another takes out; a device's memory among it.
static void packing() {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  float *device, *arrived;
  EXPECT(cudaMalloc(&device, 4 * sizeof(float)) == cudaSuccess);
  EXPECT(cudaMalloc(&arrived, 4 * sizeof(float)) == cudaSuccess);
  const float values[4] = {0.5f + rank, 1.5f, 2.5f, 3.5f};
  EXPECT(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice) == cudaSuccess);
  MPI_Datatype odd;
  const int lengths[2] = {1, 2};
  const MPI_Aint starts[2] = {sizeof(int), 4 * sizeof(int)};
  MPI(MPI_Type_create_hindexed(2, lengths, starts, MPI_INT, &odd));
  MPI(MPI_Type_commit(&odd));
  int numbers[6] = {0, 10 + rank, 0, 0, 40, 50}, count = 4, room, part, position = 0;
  MPI(MPI_Pack_size(1, odd, MPI_COMM_WORLD, &part));
  EXPECT(part == 3 * sizeof(int));
  MPI(MPI_Pack_size(4, MPI_FLOAT, MPI_COMM_WORLD, &room));
  std::vector<char> packed(room + part + sizeof count), got(packed.size());
  const int size = static_cast<int>(packed.size());
  MPI(MPI_Pack(&count, 1, MPI_INT, packed.data(), size, &position, MPI_COMM_WORLD));
  MPI(MPI_Pack(numbers, 1, odd, packed.data(), size, &position, MPI_COMM_WORLD));
  MPI(MPI_Pack(device, count, MPI_FLOAT, packed.data(), size, &position, MPI_COMM_WORLD));
  EXPECT(position == size);
  MPI_Request request;
  MPI(MPI_Issend(packed.data(), position, MPI_PACKED, right, 5, MPI_COMM_WORLD, &request));
  MPI_Status status;
  MPI(MPI_Recv(got.data(), size, MPI_PACKED, left, 5, MPI_COMM_WORLD, &status));
  MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int bytes;
  MPI(MPI_Get_count(&status, MPI_PACKED, &bytes));
  EXPECT(bytes == size);
  int taken[6] = {}, elements = 0;
  position = 0;
  MPI(MPI_Unpack(got.data(), size, &position, &elements, 1, MPI_INT, MPI_COMM_WORLD));
  MPI(MPI_Unpack(got.data(), size, &position, taken, 1, odd, MPI_COMM_WORLD));
  MPI(MPI_Unpack(got.data(), size, &position, arrived, elements, MPI_FLOAT, MPI_COMM_WORLD));
  EXPECT(position == size && taken[0] == 0 && taken[1] == 10 + left && taken[4] == 40);
  float back[4];
  EXPECT(cudaMemcpy(back, arrived, sizeof back, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(back[0] == 0.5f + left && back[3] == 3.5f);
  MPI(MPI_Type_free(&odd));

  // A message of plain integers may be received as packed data.
  int plain = 100 + rank;
  MPI(MPI_Irecv(got.data(), sizeof plain, MPI_PACKED, left, 6, MPI_COMM_WORLD, &request));
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  MPI(MPI_Rsend(&plain, 1, MPI_INT, right, 6, MPI_COMM_WORLD));
  MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  position = 0;
  MPI(MPI_Unpack(got.data(), size, &position, &elements, 1, MPI_INT, MPI_COMM_WORLD));
  EXPECT(elements == 100 + left);
  EXPECT(cudaFree(device) == cudaSuccess && cudaFree(arrived) == cudaSuccess);
}

int main(int argc, char** argv) {
  MPI(MPI_Init(&argc, &argv));
  MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  EXPECT(cudaSetDevice(rank) == cudaSuccess);
  operations();
  later();
  packing();
  MPI(MPI_Finalize());
}
