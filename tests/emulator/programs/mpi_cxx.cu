// MPI's C++ bindings: each class and each call once or more, and correct.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

bool good = true;
void check(bool right, int line) {
  if (!right) printf("rank %d: wrong at line %d\n", MPI::COMM_WORLD.Get_rank(), line);
  good = good && right;
}
#define RIGHT(condition) check(condition, __LINE__)

__global__ void fill(double* p, double first) { p[threadIdx.x] = first + threadIdx.x; }

// Whoever takes a communicator of any kind.
int size_of(const MPI::Comm& comm) { return comm.Get_size(); }

void messages(const MPI::Intracomm& comm) {
  const int rank = comm.Get_rank(), ranks = comm.Get_size();
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  int out[2] = {rank, 7}, in[2] = {-1, -1};
  MPI::Status status;
  MPI::Request requests[2];
  requests[0] = comm.Irecv(in, 2, MPI::INT, MPI::ANY_SOURCE, 3);
  requests[1] = comm.Isend(out, 2, MPI::INT, next, 3);
  MPI::Status statuses[2];
  MPI::Request::Waitall(2, requests, statuses);
  RIGHT(in[0] == last && in[1] == 7 && requests[0] == MPI::REQUEST_NULL);
  RIGHT(statuses[0].Get_source() == last && statuses[0].Get_tag() == 3);
  RIGHT(statuses[0].Get_count(MPI::INT) == 2);
  comm.Sendrecv(out, 1, MPI::INT, last, 4, in, 1, MPI::INT, next, 4, status);
  RIGHT(in[0] == next && status.Get_source() == next);
  in[0] = rank;
  comm.Sendrecv_replace(in, 1, MPI::INT, next, 5, last, 5);
  RIGHT(in[0] == last);
  if (rank == 0) {
    for (int from = 1; from < ranks; from++) {
      comm.Probe(from, 6, status);
      RIGHT(status.Get_count(MPI::CHAR) == 3);
      char text[3];
      comm.Recv(text, 3, MPI::CHAR, from, 6);
      RIGHT(std::strcmp(text, "ab") == 0);
    }
  } else {
    comm.Ssend("ab", 3, MPI::CHAR, 0, 6);
  }
  std::vector<char> room(4 + MPI::BSEND_OVERHEAD);
  void* back = nullptr;
  MPI::Attach_buffer(room.data(), static_cast<int>(room.size()));
  comm.Bsend(&rank, 1, MPI::INT, next, 7);
  comm.Recv(in, 1, MPI::INT, last, 7);
  RIGHT(in[0] == last && MPI::Detach_buffer(back) == static_cast<int>(room.size()));
  RIGHT(back == room.data() && MPI::Get_address(in) == reinterpret_cast<MPI::Aint>(in));
  MPI::Prequest pair[2] = {comm.Recv_init(in, 1, MPI::INT, last, 8),
                           comm.Send_init(out, 1, MPI::INT, next, 8)};
  for (int round = 0; round < 2; round++) {
    out[0] = rank + round;
    MPI::Prequest::Startall(2, pair);
    pair[0].Wait(status);
    pair[1].Wait();
    RIGHT(in[0] == last + round);
  }
  pair[0].Free();
  pair[1].Free();
  MPI::Request one = comm.Irecv(in, 1, MPI::INT, last, 9);
  comm.Send(out, 1, MPI::INT, next, 9);
  while (!one.Test(status)) {
  }
  RIGHT(!comm.Iprobe(MPI::ANY_SOURCE, MPI::ANY_TAG));
}

void collectives(const MPI::Intracomm& comm, double* device) {
  const int rank = comm.Get_rank(), ranks = comm.Get_size();
  double host[4], sum[4], all[64];
  fill<<<1, 4>>>(device, rank);
  cudaDeviceSynchronize();
  comm.Allreduce(device, sum, 4, MPI::DOUBLE, MPI::SUM);
  RIGHT(sum[1] == ranks * (ranks - 1) / 2.0 + ranks);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  comm.Allgather(host, 4, MPI::DOUBLE, all, 4, MPI::DOUBLE);
  for (int i = 0; i < 4 * ranks; i++) RIGHT(all[i] == i / 4 + i % 4);
  comm.Gather(host, 1, MPI::DOUBLE, all, 1, MPI::DOUBLE, 0);
  comm.Scatter(all, 1, MPI::DOUBLE, host, 1, MPI::DOUBLE, 0);
  RIGHT(host[0] == rank);
  comm.Reduce(rank == 0 ? MPI::IN_PLACE : host, rank == 0 ? host : nullptr, 1, MPI::DOUBLE,
              MPI::MAX, 0);
  comm.Bcast(host, 1, MPI::DOUBLE, 0);
  RIGHT(host[0] == ranks - 1);
  int mine = 1, upto = 0, counts[16], places[16], many[16];
  comm.Scan(&mine, &upto, 1, MPI::INT, MPI::SUM);
  RIGHT(upto == rank + 1);
  for (int i = 0; i < ranks; i++) counts[i] = 1, places[i] = ranks - 1 - i;
  comm.Allgatherv(&rank, 1, MPI::INT, many, counts, places, MPI::INT);
  RIGHT(many[0] == ranks - 1);
  struct Located {
    double value;
    int where;
  } largest = {-1.0 * rank, rank}, found = {};
  comm.Allreduce(&largest, &found, 1, MPI::DOUBLE_INT, MPI::MAXLOC);
  RIGHT(found.where == 0);
  comm.Barrier();
}

void communicators() {
  const MPI::Intracomm& world = MPI::COMM_WORLD;
  MPI::Intracomm half = world.Split(world.Get_rank() % 2, 0);
  RIGHT(half != MPI::COMM_NULL && half.Get_rank() == world.Get_rank() / 2);
  half.Free();
  RIGHT(half == MPI::COMM_NULL);
  MPI::Group all = world.Get_group();
  const int zero = 0;
  MPI::Group first = all.Incl(1, &zero);
  RIGHT(first.Get_size() == 1 && all.Get_rank() == world.Get_rank());
  MPI::Intracomm alone = world.Create(first);
  RIGHT((alone == MPI::COMM_NULL) == (world.Get_rank() != 0));
  first.Free();
  const bool round[1] = {true}, kept[1] = {true};
  const int sizes[1] = {world.Get_size()};
  MPI::Cartcomm ring = world.Create_cart(1, sizes, round, false);
  int from = -1, to = -1, place[1], shape[1];
  bool periods[1] = {false};
  ring.Shift(0, 1, from, to);
  RIGHT(to == (ring.Get_rank() + 1) % ring.Get_size());
  ring.Get_topo(1, shape, periods, place);
  RIGHT(periods[0] && shape[0] == sizes[0] && place[0] == ring.Get_rank());
  RIGHT(ring.Get_dim() == 1 && ring.Get_cart_rank(place) == ring.Get_rank());
  RIGHT(size_of(ring) == size_of(world) && size_of(ring.Sub(kept)) == size_of(world));
  MPI::Intracomm& clone = world.Clone();
  RIGHT(clone.Get_size() == world.Get_size());
  clone.Free();
  delete &clone;
}

void one_sided() {
  const int rank = MPI::COMM_WORLD.Get_rank(), ranks = MPI::COMM_WORLD.Get_size();
  int cell = -1;
  MPI::Win window =
      MPI::Win::Create(&cell, sizeof cell, sizeof cell, MPI::INFO_NULL, MPI::COMM_WORLD);
  window.Fence(0);
  window.Put(&rank, 1, MPI::INT, (rank + 1) % ranks, 0, 1, MPI::INT);
  window.Fence(0);
  RIGHT(cell == (rank + ranks - 1) % ranks);
  window.Free();
  MPI::File file = MPI::File::Open(MPI::COMM_WORLD, "cxx.bin",
                                   MPI::MODE_CREATE | MPI::MODE_RDWR | MPI::MODE_DELETE_ON_CLOSE,
                                   MPI::INFO_NULL);
  file.Write_at_all(rank * sizeof rank, &rank, 1, MPI::INT);
  file.Sync();
  MPI::COMM_WORLD.Barrier();
  file.Sync();
  RIGHT(file.Get_size() == MPI::Offset(ranks * sizeof rank));
  MPI::Status status;
  file.Read_at(0, &cell, 1, MPI::INT, status);
  RIGHT(cell == 0 && status.Get_count(MPI::INT) == 1);
  file.Close();
  bool thrown = false;
  MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  try {
    MPI::File::Open(MPI::COMM_WORLD, "none.bin", MPI::MODE_RDONLY, MPI::INFO_NULL);
  } catch (const MPI::Exception& error) {
    thrown = error.Get_error_code() == MPI::ERR_NO_SUCH_FILE;
  }
  RIGHT(thrown);
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  RIGHT(MPI::Is_initialized() && !MPI::Is_finalized());
  double* device;
  cudaMalloc(&device, 64);
  const double begun = MPI::Wtime();
  MPI::Datatype pair = MPI::INT.Create_contiguous(2);
  pair.Commit();
  RIGHT(pair.Get_size() == 2 * int(sizeof(int)));
  pair.Free();
  messages(MPI::COMM_WORLD);
  collectives(MPI::COMM_WORLD, device);
  communicators();
  one_sided();
  RIGHT(MPI::Wtime() > begun);
  char name[MPI::MAX_PROCESSOR_NAME];
  int length = 0;
  MPI::Get_processor_name(name, length);
  RIGHT(length > 0);
#ifdef EARLY
  int late = -1, early = 3;
  MPI::Request request = MPI::COMM_SELF.Isend(&early, 1, MPI::INT, 0, 0);
  early = 4;
  MPI::COMM_SELF.Recv(&late, 1, MPI::INT, 0, 0);
  request.Wait();
#endif
  MPI::Finalize();
  return good ? 0 : 1;
}
