// What the emulated MPI calls give, with host and device buffers.
#include <mpi.h>

#include <cstring>
#include <string>
#include <vector>

#include "expect.h"

#define MPI(call) EXPECT((call) == MPI_SUCCESS)

static int rank, ranks;

static void collectives() {
  std::vector<int> mine{rank, 10 * rank}, all(2 * ranks);
  MPI(MPI_Allgather(mine.data(), 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < ranks; r++) EXPECT(all[2 * r] == r && all[2 * r + 1] == 10 * r);
  std::vector<int> again(2 * ranks, -1);
  again[2 * rank] = rank;
  again[2 * rank + 1] = 10 * rank;
  MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, again.data(), 2, MPI_INT, MPI_COMM_WORLD));
  EXPECT(again == all);

  double x = rank + 0.5, sum = 0, most = x;
  MPI(MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  EXPECT(sum == ranks * (ranks - 1) / 2.0 + 0.5 * ranks && most == ranks - 0.5);
  int yes = rank > 0, any, each;
  MPI(MPI_Allreduce(&yes, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  MPI(MPI_Allreduce(&yes, &each, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  EXPECT(any == (ranks > 1) && each == 0);
  struct {
    double value;
    int where;
  } loc{-double(rank * (ranks - rank)), rank}, least;
  MPI(MPI_Reduce(&loc, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, ranks - 1, MPI_COMM_WORLD));
  if (rank == ranks - 1) EXPECT(least.where == ranks / 2);

  // Blocks of uneven sizes: rank r has r + 1 elements.
  std::vector<int> counts, starts, part(rank + 1, rank), joined;
  for (int r = 0, at = 0; r < ranks; at += ++r) {
    counts.push_back(r + 1);
    starts.push_back(at);
    for (int i = 0; i <= r; i++) joined.push_back(r);
  }
  std::vector<int> got(joined.size(), -1), back(rank + 1, -1);
  MPI(MPI_Allgatherv(part.data(), rank + 1, MPI_INT, got.data(), counts.data(), starts.data(),
                     MPI_INT, MPI_COMM_WORLD));
  EXPECT(got == joined);
  std::fill(got.begin(), got.end(), -1);
  MPI(MPI_Gatherv(part.data(), rank + 1, MPI_INT, got.data(), counts.data(), starts.data(), MPI_INT,
                  0, MPI_COMM_WORLD));
  MPI(MPI_Scatterv(got.data(), counts.data(), starts.data(), MPI_INT, back.data(), rank + 1,
                   MPI_INT, 0, MPI_COMM_WORLD));
  EXPECT(back == part);

  std::vector<int> to(ranks), from(ranks);
  for (int r = 0; r < ranks; r++) to[r] = 100 * rank + r;
  MPI(MPI_Alltoall(to.data(), 1, MPI_INT, from.data(), 1, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < ranks; r++) EXPECT(from[r] == 100 * r + rank);
  int prefix = 0, before = -1;
  MPI(MPI_Scan(&rank, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  MPI(MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(prefix == rank * (rank + 1) / 2);
  EXPECT(before == (rank ? rank * (rank - 1) / 2 : -1));
  int one = 0;
  MPI(MPI_Scatter(rank == 1 % ranks ? to.data() : nullptr, 1, MPI_INT, &one, 1, MPI_INT, 1 % ranks,
                  MPI_COMM_WORLD));
  EXPECT(one == 100 * (1 % ranks) + rank);
}

static void messages() {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<double> out(2000, rank + 0.25), in(2000);  // too large to be buffered
  MPI_Request requests[2];
  MPI_Status status[2];
  MPI(MPI_Irecv(in.data(), 2000, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]));
  MPI(MPI_Isend(out.data(), 2000, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[1]));
  MPI(MPI_Waitall(2, requests, status));
  int count;
  MPI(MPI_Get_count(&status[0], MPI_DOUBLE, &count));
  EXPECT(count == 2000 && status[0].MPI_SOURCE == previous && status[0].MPI_TAG == 7);
  EXPECT(in[0] == previous + 0.25 && in[1999] == in[0]);
  EXPECT(requests[0] == MPI_REQUEST_NULL);
  MPI(MPI_Sendrecv(out.data(), 2000, MPI_DOUBLE, previous, 1, in.data(), 2000, MPI_DOUBLE, next, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT(in[5] == next + 0.25);

  // Small ones are buffered, and keep their order; a tag can overtake another.
  const int numbers[3] = {0, 1, 2};
  MPI_Request small[3];
  for (int i = 0; i < 3; i++) {
    MPI(MPI_Isend(&numbers[i], 1, MPI_INT, next, i == 2, MPI_COMM_WORLD, &small[i]));
  }
  int a = -1, b = -1, c = -1, flag = 0;
  while (!flag) MPI(MPI_Iprobe(previous, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  MPI(MPI_Recv(&c, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI(MPI_Recv(&a, 1, MPI_INT, previous, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI(MPI_Recv(&b, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI(MPI_Waitall(3, small, MPI_STATUSES_IGNORE));
  EXPECT(a == 0 && b == 1 && c == 2);
  MPI(MPI_Recv(&a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void communicators() {
  MPI_Comm odd, copy, node;
  MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd));
  int size, order;
  MPI(MPI_Comm_size(odd, &size));
  MPI(MPI_Comm_rank(odd, &order));
  EXPECT(size == (ranks + (rank % 2 == 0)) / 2 && order == (ranks - 1 - rank) / 2);
  int sum = rank;
  MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, odd));
  MPI(MPI_Comm_dup(odd, &copy));
  MPI(MPI_Barrier(copy));
  MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MPI(MPI_Comm_size(node, &size));
  EXPECT(size == ranks);
  MPI(MPI_Comm_size(MPI_COMM_SELF, &size));
  EXPECT(size == 1);
  MPI(MPI_Comm_free(&odd));
  MPI(MPI_Comm_free(&copy));
  MPI(MPI_Comm_free(&node));
  EXPECT(node == MPI_COMM_NULL);
}

static void the_rest() {
  int* device;
  CUDA(cudaMalloc(&device, 4 * ranks));
  CUDA(cudaMemcpy(device + rank, &rank, 4, cudaMemcpyHostToDevice));
  MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, device, 1, MPI_INT, MPI_COMM_WORLD));
  std::vector<int> host(ranks);
  CUDA(cudaMemcpy(host.data(), device, 4 * ranks, cudaMemcpyDeviceToHost));
  for (int r = 0; r < ranks; r++) EXPECT(host[r] == r);
  CUDA(cudaFree(device));

  MPI_Datatype triple;
  MPI(MPI_Type_contiguous(3, MPI_FLOAT, &triple));
  MPI(MPI_Type_commit(&triple));
  int size;
  MPI(MPI_Type_size(triple, &size));
  EXPECT(size == 12);
  float v[3] = {float(rank), 1, 2};
  MPI(MPI_Bcast(v, 1, triple, 0, MPI_COMM_WORLD));
  EXPECT(v[0] == 0 && v[2] == 2);
  MPI(MPI_Type_free(&triple));

  MPI_Request request;
  int total = 0, done = 0;
  MPI(MPI_Iallreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  while (!done) MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  EXPECT(total == ranks * (ranks - 1) / 2);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI(MPI_Get_processor_name(name, &length));
  EXPECT(length == int(std::strlen(name)));
  double start = MPI_Wtime();
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  EXPECT(MPI_Wtime() >= start);
}

static void attributes() {
  int *most = nullptr, found = 0;
  MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found));
  EXPECT(found && *most >= 32767);
  MPI(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_WTIME_IS_GLOBAL, &most, &found));
  EXPECT(found && *most == 1);
  MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &most, &found));
  EXPECT(!found);
  MPI(MPI_Pcontrol(1));
  MPI(MPI_Pcontrol(2, "phase", 3));
}

static void replaced() {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<int> ring(3000, rank);  // too large to be buffered
  MPI_Status status;
  MPI(MPI_Sendrecv_replace(ring.data(), 3000, MPI_INT, next, 8, previous, 8, MPI_COMM_WORLD,
                           &status));
  EXPECT(ring[0] == previous && ring[2999] == previous && status.MPI_SOURCE == previous);
  int edge = rank;
  const int up = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
  MPI(MPI_Sendrecv_replace(&edge, 1, MPI_INT, up, 9, down, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT(edge == (rank ? rank - 1 : 0));
}

static void persistent() {
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  std::vector<int> out(3000), in(3000);
  MPI_Request both[3];
  MPI(MPI_Ssend_init(out.data(), 3000, MPI_INT, next, 4, MPI_COMM_WORLD, &both[0]));
  MPI(MPI_Recv_init(in.data(), 3000, MPI_INT, previous, 4, MPI_COMM_WORLD, &both[1]));
  MPI(MPI_Send_init(out.data(), 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &both[2]));
  int done = 0, which = 0;
  MPI(MPI_Testall(3, both, &done, MPI_STATUSES_IGNORE));  // none is started
  EXPECT(done);
  MPI(MPI_Waitany(3, both, &which, MPI_STATUS_IGNORE));
  EXPECT(which == MPI_UNDEFINED);
  for (int round = 0; round < 3; round++) {
    for (int& value : out) value = 10 * rank + round;
    if (round == 1) {
      for (MPI_Request& one : both) MPI(MPI_Start(&one));
    } else {
      MPI(MPI_Startall(3, both));
    }
    MPI(MPI_Waitall(3, both, MPI_STATUSES_IGNORE));
    EXPECT(both[0] != MPI_REQUEST_NULL);
    EXPECT(in[0] == 10 * previous + round && in[2999] == in[0]);
  }
  for (MPI_Request& one : both) MPI(MPI_Request_free(&one));
  EXPECT(both[1] == MPI_REQUEST_NULL);
}

int main(int argc, char** argv) {
  int flag;
  MPI(MPI_Initialized(&flag));
  EXPECT(!flag);
  MPI(MPI_Init(&argc, &argv));
  MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  collectives();
  messages();
  communicators();
  the_rest();
  attributes();
  replaced();
  persistent();
  MPI(MPI_Finalize());
  MPI(MPI_Finalized(&flag));
  EXPECT(flag);
  return failures != 0;
}
