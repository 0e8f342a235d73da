// Collective calls: each rank posts what it brings, and waits for those whose data it needs.
#include <cstring>

#include "mpi_objects.h"

namespace warploom::mpi {

namespace {

std::size_t extent(int count, MPI_Datatype type, const char* what) {
  require(count >= 0, what, "the count must not be negative");
  return static_cast<std::size_t>(count) * type_bytes(type, what);
}

void check_root(const Place& place, int root, const char* what) {
  require(root >= 0 && root < place.comm->size(), what, "the root is not a rank");
}

const Bytes& from(const Meeting& meeting, int rank) {
  return meeting.data[static_cast<std::size_t>(rank)];
}

char* at(void* p, std::size_t offset) { return static_cast<char*>(p) + offset; }
const char* at(const void* p, std::size_t offset) { return static_cast<const char*>(p) + offset; }

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

// Starts a collective whose end is `finish`; a plain call waits at once, an I-call later.
int run(const Place& place, std::shared_ptr<Meeting> meeting, std::vector<int> needs,
        std::function<void()> finish, MPI_Request* request) {
  if (!request) {
    await(place, *meeting, needs);
    finish();
    return MPI_SUCCESS;
  }
  auto* started = new warploom_mpi_request;
  started->what = "MPI_Wait";
  started->ready = [=] { return is_complete(*meeting, needs); };
  started->block = [=] { await(place, *meeting, needs); };
  started->finish = [=](MPI_Status*) {
    acquire_from(*meeting, needs);
    finish();
  };
  *request = started;
  return MPI_SUCCESS;
}

int broadcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
              MPI_Request* request, const char* what) {
  const Place place = enter(comm, what);
  check_root(place, root, what);
  const std::size_t bytes = extent(count, type, what);
  const bool is_root = place.rank == root;
  auto meeting = post(place, what, format("root %d, %zu bytes", root, bytes),
                      is_root ? read_buffer(buffer, bytes, what) : Bytes{});
  return run(
      place, meeting, {root},
      [=] {
        if (!is_root) write_buffer(buffer, from(*meeting, root).data(), bytes, what);
      },
      request);
}

int all_reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request* request, const char* what) {
  const Place place = enter(comm, what);
  const std::size_t bytes = extent(count, type, what);
  auto meeting = post(place, what, reduction_details(count, type, op, -1),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, what));
  const int last = place.comm->size() - 1;
  return run(
      place, meeting, {},
      [=] {
        const Bytes total = combined(*meeting, last, type, op, what);
        write_buffer(recv, total.data(), total.size(), what);
      },
      request);
}

int all_gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
               MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request, const char* what) {
  const Place place = enter(comm, what);
  const std::size_t block = extent(recvcount, recvtype, what);
  const auto mine = static_cast<std::size_t>(place.rank) * block;
  const bool in_place = send == MPI_IN_PLACE;
  const std::size_t bytes = in_place ? block : extent(sendcount, sendtype, what);
  require(bytes == block, what, "a rank sends another size than it receives from each rank");
  auto meeting = post(place, what, format("%zu bytes from each", bytes),
                      read_buffer(in_place ? at(recv, mine) : send, bytes, what));
  const int ranks = place.comm->size();
  return run(
      place, meeting, {},
      [=] {
        Bytes all;
        for (int rank = 0; rank < ranks; rank++) {
          const Bytes& part = from(*meeting, rank);
          all.insert(all.end(), part.begin(), part.end());
        }
        write_buffer(recv, all.data(), all.size(), what);
      },
      request);
}

int prefix(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           bool inclusive, const char* what) {
  const Place place = enter(comm, what);
  const std::size_t bytes = extent(count, type, what);
  auto meeting = post(place, what, reduction_details(count, type, op, -1),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, what));
  const int last = inclusive ? place.rank : place.rank - 1;
  std::vector<int> needs{place.rank};
  for (int rank = 0; rank < last; rank++) needs.push_back(rank);
  await(place, *meeting, needs);
  if (last < 0) return MPI_SUCCESS;  // the first rank of an exclusive scan keeps its buffer
  const Bytes total = combined(*meeting, last, type, op, what);
  write_buffer(recv, total.data(), total.size(), what);
  return MPI_SUCCESS;
}

// A layout of one block per rank.
struct Blocks {
  const int* counts = nullptr;  // nullptr: `count` for each
  const int* displacements = nullptr;
  int count = 0;
  std::size_t element = 0;
  std::size_t offset(int rank) const {
    const auto blocks = displacements ? displacements[rank] : rank * count;
    return static_cast<std::size_t>(blocks) * element;
  }
  std::size_t bytes(int rank) const {
    return static_cast<std::size_t>(counts ? counts[rank] : count) * element;
  }
};

void store_block(void* recv, const Blocks& layout, int rank, const Bytes& part, const char* what) {
  if (part.size() > layout.bytes(rank)) {
    fail("mpi_truncation",
         format("%s: rank %d sends %zu bytes, and there is room for %zu", what, rank, part.size(),
                layout.bytes(rank)),
         "make the receive count at least as large as what is sent");
  }
  write_buffer(at(recv, layout.offset(rank)), part.data(), part.size(), what);
}

int gather(const void* send, std::size_t bytes, void* recv, const Blocks& layout, int root,
           MPI_Comm comm, const char* what) {
  const Place place = enter(comm, what);
  check_root(place, root, what);
  const bool is_root = place.rank == root;
  const bool in_place = send == MPI_IN_PLACE;
  if (in_place) {
    require(is_root, what, "only the root gives MPI_IN_PLACE");
    send = at(recv, layout.offset(root));
    bytes = layout.bytes(root);
  }
  auto meeting = post(place, what, format("root %d", root), read_buffer(send, bytes, what));
  if (!is_root) return MPI_SUCCESS;
  await(place, *meeting);
  for (int rank = 0; rank < place.comm->size(); rank++) {
    if (!in_place || rank != root) store_block(recv, layout, rank, from(*meeting, rank), what);
  }
  return MPI_SUCCESS;
}

int scatter(const void* send, const Blocks& layout, void* recv, std::size_t bytes, int root,
            MPI_Comm comm, const char* what) {
  const Place place = enter(comm, what);
  check_root(place, root, what);
  Bytes data;
  std::vector<std::size_t> ends;
  if (place.rank == root) {
    for (int rank = 0; rank < place.comm->size(); rank++) {
      const Bytes part = read_buffer(at(send, layout.offset(rank)), layout.bytes(rank), what);
      const std::size_t size = part.size();
      const auto* header = reinterpret_cast<const char*>(&size);
      data.insert(data.end(), header, header + sizeof size);
      data.insert(data.end(), part.begin(), part.end());
    }
  }
  auto meeting = post(place, what, format("root %d", root), std::move(data));
  await(place, *meeting, {root});
  const char* cursor = from(*meeting, root).data();
  for (int rank = 0;; rank++) {
    std::size_t size = 0;
    std::memcpy(&size, cursor, sizeof size);
    cursor += sizeof size;
    if (rank == place.rank) {
      if (recv == MPI_IN_PLACE) return MPI_SUCCESS;
      if (size > bytes) {
        fail("mpi_truncation",
             format("%s: the root sends %zu bytes, and there is room for %zu", what, size, bytes),
             "make the receive count at least as large as what is sent");
      }
      write_buffer(recv, cursor, size, what);
      return MPI_SUCCESS;
    }
    cursor += size;
  }
}

int all_to_all(const void* send, const Blocks& out, void* recv, const Blocks& in, MPI_Comm comm,
               const std::string& details, const char* what) {
  const Place place = enter(comm, what);
  const int ranks = place.comm->size();
  const bool in_place = send == MPI_IN_PLACE;
  const Blocks& layout = in_place ? in : out;
  Bytes data;
  for (int rank = 0; rank < ranks; rank++) {
    const Bytes part =
        read_buffer(at(in_place ? recv : send, layout.offset(rank)), layout.bytes(rank), what);
    const std::size_t size = part.size();
    const auto* header = reinterpret_cast<const char*>(&size);
    data.insert(data.end(), header, header + sizeof size);
    data.insert(data.end(), part.begin(), part.end());
  }
  auto meeting = post(place, what, details, std::move(data));
  await(place, *meeting);
  for (int rank = 0; rank < ranks; rank++) {
    const char* cursor = from(*meeting, rank).data();
    for (int target = 0; target <= place.rank; target++) {
      std::size_t size = 0;
      std::memcpy(&size, cursor, sizeof size);
      cursor += sizeof size;
      if (target == place.rank) store_block(recv, in, rank, Bytes(cursor, cursor + size), what);
      cursor += size;
    }
  }
  return MPI_SUCCESS;
}

Blocks even(int count, MPI_Datatype type, const char* what) {
  extent(count, type, what);
  return {nullptr, nullptr, count, type_bytes(type, what)};
}
Blocks uneven(const int* counts, const int* displacements, MPI_Datatype type, const char* what) {
  return {counts, displacements, 0, type_bytes(type, what)};
}

}  // namespace

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
  return run(place, post(place, "MPI_Ibarrier", "", {}), {}, [] {}, request);
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
  constexpr const char* kName = "MPI_Reduce";
  const Place place = enter(comm, kName);
  check_root(place, root, kName);
  const std::size_t bytes = extent(count, type, kName);
  const bool is_root = place.rank == root;
  require(is_root || send != MPI_IN_PLACE, kName, "only the root gives MPI_IN_PLACE");
  auto meeting = post(place, kName, reduction_details(count, type, op, root),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, bytes, kName));
  if (!is_root) return MPI_SUCCESS;
  await(place, *meeting);
  const Bytes total = combined(*meeting, place.comm->size() - 1, type, op, kName);
  write_buffer(recv, total.data(), total.size(), kName);
  return MPI_SUCCESS;
}

int MPI_Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  constexpr const char* kName = "MPI_Reduce_scatter_block";
  const Place place = enter(comm, kName);
  const std::size_t block = extent(count, type, kName);
  const int ranks = place.comm->size();
  auto meeting = post(place, kName, reduction_details(count, type, op, -1),
                      read_buffer(send == MPI_IN_PLACE ? recv : send,
                                  block * static_cast<std::size_t>(ranks), kName));
  await(place, *meeting);
  const Bytes total = combined(*meeting, ranks - 1, type, op, kName);
  write_buffer(recv, total.data() + static_cast<std::size_t>(place.rank) * block, block, kName);
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

int MPI_Allgatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                   const int* counts, const int* displacements, MPI_Datatype recvtype,
                   MPI_Comm comm) {
  constexpr const char* kName = "MPI_Allgatherv";
  const Place place = enter(comm, kName);
  const Blocks layout = uneven(counts, displacements, recvtype, kName);
  const bool in_place = send == MPI_IN_PLACE;
  auto meeting = post(
      place, kName, "",
      in_place ? read_buffer(at(recv, layout.offset(place.rank)), layout.bytes(place.rank), kName)
               : read_buffer(send, extent(sendcount, sendtype, kName), kName));
  await(place, *meeting);
  for (int rank = 0; rank < place.comm->size(); rank++) {
    store_block(recv, layout, rank, from(*meeting, rank), kName);
  }
  return MPI_SUCCESS;
}

int MPI_Gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  const bool is_root = enter(comm, "MPI_Gather").rank == root;
  return gather(send, in_place ? 0 : extent(sendcount, sendtype, "MPI_Gather"), recv,
                is_root ? even(recvcount, recvtype, "MPI_Gather") : Blocks{}, root, comm,
                "MPI_Gather");
}
int MPI_Gatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                const int* counts, const int* displacements, MPI_Datatype recvtype, int root,
                MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  const bool is_root = enter(comm, "MPI_Gatherv").rank == root;
  return gather(send, in_place ? 0 : extent(sendcount, sendtype, "MPI_Gatherv"), recv,
                is_root ? uneven(counts, displacements, recvtype, "MPI_Gatherv") : Blocks{}, root,
                comm, "MPI_Gatherv");
}

int MPI_Scatter(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const bool is_root = enter(comm, "MPI_Scatter").rank == root;
  const std::size_t bytes = recv == MPI_IN_PLACE ? 0 : extent(recvcount, recvtype, "MPI_Scatter");
  return scatter(send, is_root ? even(sendcount, sendtype, "MPI_Scatter") : Blocks{}, recv, bytes,
                 root, comm, "MPI_Scatter");
}
int MPI_Scatterv(const void* send, const int* counts, const int* displacements,
                 MPI_Datatype sendtype, void* recv, int recvcount, MPI_Datatype recvtype, int root,
                 MPI_Comm comm) {
  const bool is_root = enter(comm, "MPI_Scatterv").rank == root;
  const std::size_t bytes = recv == MPI_IN_PLACE ? 0 : extent(recvcount, recvtype, "MPI_Scatterv");
  return scatter(send, is_root ? uneven(counts, displacements, sendtype, "MPI_Scatterv") : Blocks{},
                 recv, bytes, root, comm, "MPI_Scatterv");
}

int MPI_Alltoall(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
  const Blocks in = even(recvcount, recvtype, "MPI_Alltoall");
  const Blocks out = send == MPI_IN_PLACE ? in : even(sendcount, sendtype, "MPI_Alltoall");
  return all_to_all(send, out, recv, in, comm, format("%zu bytes to each", out.bytes(0)),
                    "MPI_Alltoall");
}
int MPI_Alltoallv(const void* send, const int* sendcounts, const int* senddispls,
                  MPI_Datatype sendtype, void* recv, const int* recvcounts, const int* recvdispls,
                  MPI_Datatype recvtype, MPI_Comm comm) {
  const Blocks in = uneven(recvcounts, recvdispls, recvtype, "MPI_Alltoallv");
  const Blocks out =
      send == MPI_IN_PLACE ? in : uneven(sendcounts, senddispls, sendtype, "MPI_Alltoallv");
  return all_to_all(send, out, recv, in, comm, "", "MPI_Alltoallv");
}

}  // extern "C"
