// Collectives that move one block per rank, of one size or of several.
#include <cstring>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

namespace {

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

// The blocks of all ranks in a buffer.
std::vector<Used> all_of(const void* buffer, const Blocks& layout, int ranks) {
  std::vector<Used> all;
  for (int rank = 0; rank < ranks; rank++) {
    all.push_back({at(buffer, layout.offset(rank)), layout.bytes(rank)});
  }
  return all;
}

// "No location in the receive buffer may be written more than once" (MPI 3.1, 5.5).
void check_apart(std::vector<Used> blocks, const char* what) {
  if (lie_apart(std::move(blocks))) return;
  fail(kinds::overlapping_buffers,
       format("%s: what comes of two ranks is received in one place", what),
       "give each rank's block its own displacement, in elements");
}

void store_block(const Place& place, void* recv, const Blocks& layout, int rank, const Bytes& part,
                 const char* what) {
  if (part.size() > layout.bytes(rank)) {
    fail(kinds::mpi_truncation,
         format("%s: rank %d sends %zu bytes, and there is room for %zu", what, rank, part.size(),
                layout.bytes(rank)),
         "make the receive count at least as large as what is sent");
  }
  write_buffer(place, at(recv, layout.offset(rank)), part.data(), part.size(), part.origin, what);
}

int gather(const void* send, std::size_t bytes, void* recv, const Blocks& layout, int root,
           MPI_Comm comm, MPI_Datatype type, const char* what) {
  const Place place = enter(comm, what, type);
  check_root(place, root, what);
  const bool is_root = place.rank == root;
  const bool in_place = send == MPI_IN_PLACE;
  note_moving(is_root ? recv : send, what, 2);
  if (is_root) check_apart(all_of(recv, layout, place.comm->size()), what);
  if (in_place) {
    require(is_root, what, "only the root gives MPI_IN_PLACE");
    send = at(recv, layout.offset(root));
    bytes = layout.bytes(root);
  } else if (is_root) {
    check_aliasing({{send, bytes}}, all_of(recv, layout, place.comm->size()), what);
  }
  auto meeting = post(place, what, format("root %d", root), read_buffer(send, bytes, what));
  await(place, *meeting, is_root ? std::vector<int>{} : std::vector<int>{place.rank});
  if (!is_root) return MPI_SUCCESS;
  for (int rank = 0; rank < place.comm->size(); rank++) {
    if (!in_place || rank != root)
      store_block(place, recv, layout, rank, from(*meeting, rank), what);
  }
  return MPI_SUCCESS;
}

int scatter(const void* send, const Blocks& layout, void* recv, std::size_t bytes, int root,
            MPI_Comm comm, MPI_Datatype type, const char* what) {
  const Place place = enter(comm, what, type);
  check_root(place, root, what);
  note_moving(place.rank == root ? send : recv, what, 2);
  Bytes data;
  std::vector<std::size_t> ends;
  if (place.rank == root) {
    check_aliasing(all_of(send, layout, place.comm->size()), {{recv, bytes}}, what);
    for (int rank = 0; rank < place.comm->size(); rank++) {
      const Bytes part = read_buffer(at(send, layout.offset(rank)), layout.bytes(rank), what);
      data.append_sized(part);
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
        fail(kinds::mpi_truncation,
             format("%s: the root sends %zu bytes, and there is room for %zu", what, size, bytes),
             "make the receive count at least as large as what is sent");
      }
      write_buffer(place, recv, cursor, size, meeting->origin, what);
      return MPI_SUCCESS;
    }
    cursor += size;
  }
}

int all_to_all(const void* send, const Blocks& out, void* recv, const Blocks& in, MPI_Comm comm,
               MPI_Datatype type, const std::string& details, const char* what) {
  const Place place = enter(comm, what, type);
  const int ranks = place.comm->size();
  const bool in_place = send == MPI_IN_PLACE;
  const Blocks& layout = in_place ? in : out;
  note_moving(recv, what, 2);
  check_apart(all_of(recv, in, ranks), what);
  if (!in_place) check_aliasing(all_of(send, out, ranks), all_of(recv, in, ranks), what);
  Bytes data;
  for (int rank = 0; rank < ranks; rank++) {
    const Bytes part =
        read_buffer(at(in_place ? recv : send, layout.offset(rank)), layout.bytes(rank), what);
    data.append_sized(part);
  }
  auto meeting = post(place, what, details, std::move(data));
  await(place, *meeting);
  for (int rank = 0; rank < ranks; rank++) {
    const char* cursor = from(*meeting, rank).data();
    for (int target = 0; target <= place.rank; target++) {
      std::size_t size = 0;
      std::memcpy(&size, cursor, sizeof size);
      cursor += sizeof size;
      if (target == place.rank) {
        Bytes part(cursor, cursor + size);
        part.origin = from(*meeting, rank).origin;
        store_block(place, recv, in, rank, part, what);
      }
      cursor += size;
    }
  }
  return MPI_SUCCESS;
}

Blocks even(int count, MPI_Datatype type, const char* what) {
  extent(count, type, what);
  return {nullptr, nullptr, count, dense_bytes(type, what)};
}
Blocks uneven(const int* counts, const int* displacements, MPI_Datatype type, const char* what) {
  return {counts, displacements, 0, dense_bytes(type, what)};
}

int all_gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
               const int* counts, const int* displacements, MPI_Datatype recvtype, MPI_Comm comm,
               MPI_Request* request, const char* what) {
  const Place place = enter(comm, what, recvtype);
  const Blocks layout = uneven(counts, displacements, recvtype, what);
  note_moving(recv, what, 2);
  const int ranks = place.comm->size();
  const std::vector<Used> blocks = all_of(recv, layout, ranks);
  check_apart(blocks, what);
  check_elements(send, sendtype, recvtype, what);
  std::vector<Lent> lent;
  for (int rank = 0; rank < ranks; rank++) {
    lent.push_back({at(recv, layout.offset(rank)), counts[rank], recvtype, true});
  }
  const Used mine = blocks[static_cast<std::size_t>(place.rank)];
  Used given = mine;
  if (send != MPI_IN_PLACE) {
    given = {send, extent(sendcount, sendtype, what)};
    check_aliasing({given}, blocks, what);
    lent.push_back({send, sendcount, sendtype, false});
  }
  auto meeting =
      post(place, what, with_place("", send), read_buffer(given.start, given.bytes, what));
  // The lists may be gone when the call is completed.
  std::vector<int> sizes(counts, counts + ranks), starts(displacements, displacements + ranks);
  return end_collective(
      place, meeting, {},
      [=] {
        const Blocks kept{sizes.data(), starts.data(), 0, layout.element};
        for (int rank = 0; rank < ranks; rank++) {
          store_block(place, recv, kept, rank, from(*meeting, rank), what);
        }
      },
      request, lent);
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Allgatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                   const int* counts, const int* displacements, MPI_Datatype recvtype,
                   MPI_Comm comm) {
  return all_gather(send, sendcount, sendtype, recv, counts, displacements, recvtype, comm, nullptr,
                    "MPI_Allgatherv");
}
int MPI_Iallgatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                    const int* counts, const int* displacements, MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request) {
  return all_gather(send, sendcount, sendtype, recv, counts, displacements, recvtype, comm, request,
                    "MPI_Iallgatherv");
}

int MPI_Gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  const bool is_root = enter(comm, "MPI_Gather").rank == root;
  return gather(send, in_place ? 0 : extent(sendcount, sendtype, "MPI_Gather"), recv,
                is_root ? even(recvcount, recvtype, "MPI_Gather") : Blocks{}, root, comm,
                is_root ? recvtype : sendtype, "MPI_Gather");
}
int MPI_Gatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                const int* counts, const int* displacements, MPI_Datatype recvtype, int root,
                MPI_Comm comm) {
  const bool in_place = send == MPI_IN_PLACE;
  const bool is_root = enter(comm, "MPI_Gatherv").rank == root;
  return gather(send, in_place ? 0 : extent(sendcount, sendtype, "MPI_Gatherv"), recv,
                is_root ? uneven(counts, displacements, recvtype, "MPI_Gatherv") : Blocks{}, root,
                comm, is_root ? recvtype : sendtype, "MPI_Gatherv");
}

int MPI_Scatter(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm) {
  const bool is_root = enter(comm, "MPI_Scatter").rank == root;
  const std::size_t bytes = recv == MPI_IN_PLACE ? 0 : extent(recvcount, recvtype, "MPI_Scatter");
  return scatter(send, is_root ? even(sendcount, sendtype, "MPI_Scatter") : Blocks{}, recv, bytes,
                 root, comm, is_root ? sendtype : recvtype, "MPI_Scatter");
}
int MPI_Scatterv(const void* send, const int* counts, const int* displacements,
                 MPI_Datatype sendtype, void* recv, int recvcount, MPI_Datatype recvtype, int root,
                 MPI_Comm comm) {
  const bool is_root = enter(comm, "MPI_Scatterv").rank == root;
  const std::size_t bytes = recv == MPI_IN_PLACE ? 0 : extent(recvcount, recvtype, "MPI_Scatterv");
  return scatter(send, is_root ? uneven(counts, displacements, sendtype, "MPI_Scatterv") : Blocks{},
                 recv, bytes, root, comm, is_root ? sendtype : recvtype, "MPI_Scatterv");
}

int MPI_Alltoall(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
  const Blocks in = even(recvcount, recvtype, "MPI_Alltoall");
  const Blocks out = send == MPI_IN_PLACE ? in : even(sendcount, sendtype, "MPI_Alltoall");
  check_elements(send, sendtype, recvtype, "MPI_Alltoall");
  return all_to_all(send, out, recv, in, comm, recvtype,
                    with_place(format("%zu bytes to each", out.bytes(0)), send), "MPI_Alltoall");
}
int MPI_Alltoallv(const void* send, const int* sendcounts, const int* senddispls,
                  MPI_Datatype sendtype, void* recv, const int* recvcounts, const int* recvdispls,
                  MPI_Datatype recvtype, MPI_Comm comm) {
  const Blocks in = uneven(recvcounts, recvdispls, recvtype, "MPI_Alltoallv");
  const Blocks out =
      send == MPI_IN_PLACE ? in : uneven(sendcounts, senddispls, sendtype, "MPI_Alltoallv");
  check_elements(send, sendtype, recvtype, "MPI_Alltoallv");
  return all_to_all(send, out, recv, in, comm, recvtype, with_place("", send), "MPI_Alltoallv");
}

}  // extern "C"
