// Collective calls: each rank posts what it brings, and waits for those whose data it needs.
#include <cstring>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

std::string reduction_details(int count, MPI_Datatype type, MPI_Op op, int root) {
  std::string text = format("%d %s, %s", count, type_name(type), op_name(op));
  if (root >= 0) text += format(", root %d", root);
  return text;
}

// Ranks `first` to `last`, combined in their order.
Bytes combined(const Meeting& meeting, int last, MPI_Datatype type, MPI_Op op, const char* what) {
  Bytes total = from(meeting, 0);
  for (int rank = 1; rank <= last; rank++) combine(total, from(meeting, rank), type, op, what);
  return total;
}

int broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
              MPI_Request* request, const char* what) {
  const Place place = enter(comm, what, type);
  check_root(place, root, what);
  const std::size_t bytes = packed(count, type, what);
  note_moving(buffer, what, 2);
  const bool is_root = place.rank == root;
  auto meeting = post(place, what, format("root %d, %zu bytes", root, bytes),
                      is_root ? gather_elements(buffer, count, type, what) : Bytes{});
  return end_collective(place, meeting, {root},
                        [=] {
                          if (is_root) return;
                          Bytes data = from(*meeting, root);
                          data.origin = meeting->origin;
                          scatter_elements(place, buffer, data, what);
                        },
                        request, {{buffer, count, type, !is_root}});
}

// This rank gets what all ranks' operands come to.
int end_reduction(const Place& place, const std::shared_ptr<Meeting>& meeting, const void* send,
                  void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Request* request,
                  const char* what) {
  const int last = place.comm->size() - 1;
  return end_collective(place, meeting, {},
                        [=] {
                          const Bytes total = combined(*meeting, last, type, op, what);
                          write_buffer(place, recv, total.data(), total.size(), meeting->origin,
                                       what);
                        },
                        request, {{send, count, type, false}, {recv, count, type, true}});
}

int all_reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request* request, const char* what) {
  const Place place = enter(comm, what, type);
  const std::size_t bytes = extent(count, type, what);
  note_moving(recv, what, 2);
  check_aliasing({{send, bytes}}, {{recv, bytes}}, what);
  auto meeting = post(place, what, with_place(reduction_details(count, type, op, -1), send),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, what));
  return end_reduction(place, meeting, send, recv, count, type, op, request, what);
}

int all_gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
               MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request, const char* what) {
  const Place place = enter(comm, what, recvtype);
  const std::size_t block = extent(recvcount, recvtype, what);
  const auto mine = static_cast<std::size_t>(place.rank) * block;
  note_moving(recv, what, 2);
  const bool in_place = send == MPI_IN_PLACE;
  const std::size_t bytes = in_place ? block : extent(sendcount, sendtype, what);
  require(bytes == block, what, "a rank sends another size than it receives from each rank");
  check_elements(send, sendtype, recvtype, what);
  const int ranks = place.comm->size();
  check_aliasing({{send, bytes}}, {{recv, block * static_cast<std::size_t>(ranks)}}, what);
  auto meeting = post(place, what, with_place(format("%zu bytes from each", bytes), send),
                      read_buffer(in_place ? at(recv, mine) : send, bytes, what));
  return end_collective(
      place, meeting, {},
      [=] {
        Bytes all;
        for (int rank = 0; rank < ranks; rank++) {
          all.append(from(*meeting, rank));
        }
        write_buffer(place, recv, all.data(), all.size(), meeting->origin, what);
      },
      request, {{send, sendcount, sendtype, false}, {recv, ranks * recvcount, recvtype, true}});
}

int reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, MPI_Request* request, const char* what) {
  const Place place = enter(comm, what, type);
  check_root(place, root, what);
  const std::size_t bytes = extent(count, type, what);
  const bool is_root = place.rank == root;
  note_moving(is_root ? recv : send, what, 2);
  require(is_root || send != MPI_IN_PLACE, what, "only the root gives MPI_IN_PLACE");
  if (is_root) check_aliasing({{send, bytes}}, {{recv, bytes}}, what);
  auto meeting = post(place, what, reduction_details(count, type, op, root),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, what));
  if (!is_root) {  // which waits for nobody
    return end_collective(place, meeting, {place.rank}, [] {}, request,
                          {{send, count, type, false}});
  }
  return end_reduction(place, meeting, send, recv, count, type, op, request, what);
}

int prefix(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           bool inclusive, const char* what) {
  const Place place = enter(comm, what, type);
  const std::size_t bytes = extent(count, type, what);
  note_moving(recv, what, 2);
  check_aliasing({{send, bytes}}, {{recv, bytes}}, what);
  auto meeting = post(place, what, reduction_details(count, type, op, -1),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, what));
  const int last = inclusive ? place.rank : place.rank - 1;
  std::vector<int> needs{place.rank};
  for (int rank = 0; rank <= last; rank++) needs.push_back(rank);
  await(place, *meeting, needs);
  if (last < 0) return MPI_SUCCESS;  // the first rank of an exclusive scan keeps its buffer
  const Bytes total = combined(*meeting, last, type, op, what);
  write_buffer(place, recv, total.data(), total.size(), meeting->origin, what);
  return MPI_SUCCESS;
}

}  // namespace

int end_collective(const Place& place, std::shared_ptr<Meeting> meeting, std::vector<int> needs,
                   std::function<void()> finish, MPI_Request* request,
                   const std::vector<Lent>& buffers) {
  if (!request) {
    await(place, *meeting, needs);
    finish();
    return MPI_SUCCESS;
  }
  auto* started = new warploom_mpi_request;
  started->collective = true;
  started->what = "MPI_Wait";
  started->ready = [=] { return is_complete(*meeting, needs); };
  started->block = [=] { await(place, *meeting, needs); };
  if (!needs.empty()) {
    started->linger = [=, comm = place.comm] { linger_for_all(*comm, *meeting); };
  }
  started->finish = [=](MPI_Status*) {
    acquire_from(*meeting, needs);
    finish();
  };
  lend(*started, meeting->what.c_str(), buffers);
  *request = g_request_handles.give(started);
  return MPI_SUCCESS;
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  const Place place = enter(comm, "MPI_Barrier");
  await(place, *post(place, "MPI_Barrier", "", {}));
  return MPI_SUCCESS;
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  const Place place = enter(comm, "MPI_Ibarrier");
  return end_collective(place, post(place, "MPI_Ibarrier", "", {}), {}, [] {}, request);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return broadcast(buffer, count, type, root, comm, nullptr, "MPI_Bcast");
}
int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  return broadcast(buffer, count, type, root, comm, request, "MPI_Ibcast");
}

int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return all_reduce(send, recv, count, type, op, comm, nullptr, "MPI_Allreduce");
}
int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  return all_reduce(send, recv, count, type, op, comm, request, "MPI_Iallreduce");
}

int MPI_Reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  return reduce(send, recv, count, type, op, root, comm, nullptr, "MPI_Reduce");
}
int MPI_Ireduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
  return reduce(send, recv, count, type, op, root, comm, request, "MPI_Ireduce");
}

int MPI_Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  constexpr const char* kName = "MPI_Reduce_scatter_block";
  const Place place = enter(comm, kName, type);
  const std::size_t block = extent(count, type, kName);
  note_moving(recv, kName, 2);
  const int ranks = place.comm->size();
  const std::size_t whole = block * static_cast<std::size_t>(ranks);
  check_aliasing({{send, whole}}, {{recv, block}}, kName);
  auto meeting = post(place, kName, reduction_details(count, type, op, -1),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, whole, kName));
  await(place, *meeting);
  const Bytes total = combined(*meeting, ranks - 1, type, op, kName);
  write_buffer(place, recv, total.data() + static_cast<std::size_t>(place.rank) * block, block,
               meeting->origin, kName);
  return MPI_SUCCESS;
}

int MPI_Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return prefix(send, recv, count, type, op, comm, true, "MPI_Scan");
}
int MPI_Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  return prefix(send, recv, count, type, op, comm, false, "MPI_Exscan");
}

int MPI_Allgather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm) {
  return all_gather(send, sendcount, sendtype, recv, recvcount, recvtype, comm, nullptr,
                    "MPI_Allgather");
}
int MPI_Iallgather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return all_gather(send, sendcount, sendtype, recv, recvcount, recvtype, comm, request,
                    "MPI_Iallgather");
}

}  // extern "C"
