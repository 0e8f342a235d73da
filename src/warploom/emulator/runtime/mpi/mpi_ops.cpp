// Operations of the program's own, and data that it packs into a buffer.
#include <cstring>
#include <numeric>

#include "host/call_targets.h"
#include "host/process_heap.h"
#include "machine/into_program.h"
#include "mpi/mpi_objects.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

struct UserOp {
  MPI_User_function* function;
  bool commutes;
  bool freed = false;
};
// Ranks number theirs together, as with data types: what one has made no other may name.
std::vector<UserOp> g_user_ops;

UserOp& user_op(MPI_Op op, const char* what) {
  const int index = op - kUserOps;
  require(index >= 0 && index < static_cast<int>(g_user_ops.size()), what,
          "the operation does not exist");
  UserOp& found = g_user_ops[static_cast<std::size_t>(index)];
  require(!found.freed, what, "the operation has been freed");
  return found;
}

// What a call does by the host's own hands, with nobody else: to move bytes costs what `memcpy`
// does, words that are loaded and stored.
void work_on_host(std::size_t bytes, std::size_t operations = 0) {
  g_host_work += (bytes + 7) / 8 + operations;
}

// Where a call packs or takes: `position` in a buffer of `room` bytes, `bytes` long.
void check_room(int room, const int* position, std::size_t bytes, const char* what) {
  require(position != nullptr, what, "the position's address must not be NULL");
  require(*position >= 0 && room >= 0, what, "the position and the size must not be negative");
  const auto start = static_cast<std::size_t>(*position);
  if (start + bytes <= static_cast<std::size_t>(room)) return;
  fail(kinds::mpi_truncation,
       format("%s: %zu bytes from position %d on, and the buffer is said to have %d", what, bytes,
              *position, room),
       "make the buffer as large as MPI_Pack_size says for all that is packed");
}

// A copy of data where the program may read and write it.
struct InProgram {
  InProgram(const Bytes& source, const char* what) : data(program_memory(source.size())) {
    require(data != nullptr, what, "there is not enough memory for the operands");
    std::memcpy(data, source.data(), source.size());
  }
  ~InProgram() { heap_give(data); }
  InProgram(const InProgram&) = delete;
  InProgram& operator=(const InProgram&) = delete;
  void* data;
};

}  // namespace

bool g_reducing = false;

void combine_by_program(Bytes& into, const Bytes& from, MPI_Datatype type, MPI_Op op,
                        const char* what) {
  const UserOp& found = user_op(op, what);
  const std::size_t element = dense_bytes(type, what);
  int count = element ? static_cast<int>(into.size() / element) : 0;
  if (count == 0) return;
  // MPI: the second operand takes the result, and the first is of the lower ranks. An operation
  // that commutes, as it was said to, may get them the other way round.
  const bool turned =
      found.commutes && (random_schedule() ? random_below(2) == 0 : comes_late() && !g_timed);
  const InProgram first(turned ? from : into, what), second(turned ? into : from, what);
  g_reducing = true;
  into_program(WARPLOOM_FRAME, found.function, first.data, second.data, &count, &type);
  g_reducing = false;
  std::memcpy(into.data(), second.data, into.size());
  into.origin.join(from.origin);
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* out) {
  constexpr const char* kName = "MPI_Op_create";
  require(function != nullptr && out != nullptr, kName,
          "the function and the result's address must not be NULL");
  check_call_target(function);
  g_user_ops.push_back({function, commutes != 0});
  *out = kUserOps + static_cast<int>(g_user_ops.size()) - 1;
  return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op* op) {
  constexpr const char* kName = "MPI_Op_free";
  require(op != nullptr && *op >= kUserOps, kName, "only an operation of MPI_Op_create is freed");
  user_op(*op, kName).freed = true;
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op op, int* commutes) {
  *commutes = op < kUserOps || user_op(op, "MPI_Op_commutative").commutes;
  return MPI_SUCCESS;
}

int MPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  constexpr const char* kName = "MPI_Reduce_local";
  const Place place = enter(MPI_COMM_SELF, kName, type);
  const std::size_t bytes = extent(count, type, kName);
  check_aliasing({{in, bytes}}, {{inout, bytes}}, kName);
  Bytes total = read_buffer(in, bytes, kName);
  const Bytes second = read_buffer(inout, bytes, kName);
  // Operations of the program's own have their price as they run.
  work_on_host(3 * bytes, op < kUserOps ? static_cast<std::size_t>(count) : 0);
  combine(total, second, type, op, kName);
  total.origin.join(second.origin);
  write_buffer(place, inout, total.data(), total.size(), total.origin, kName);
  return MPI_SUCCESS;
}

int MPI_Reduce_scatter(const void* send, void* recv, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
  constexpr const char* kName = "MPI_Reduce_scatter";
  const Place place = enter(comm, kName, type);
  const int ranks = place.comm->size();
  for (int rank = 0; rank < ranks; rank++) {
    require(counts[rank] >= 0, kName, "no count may be negative");
  }
  const std::size_t before = extent(std::accumulate(counts, counts + place.rank, 0), type, kName);
  const std::size_t whole = extent(std::accumulate(counts, counts + ranks, 0), type, kName);
  const std::size_t mine = extent(counts[place.rank], type, kName);
  note_moving(recv, kName, 2);
  check_aliasing({{send, whole}}, {{recv, mine}}, kName);
  auto meeting = post(place, kName, format("%zu bytes in all, %s", whole, op_name(op)),
                      read_buffer(send == MPI_IN_PLACE ? recv : send, whole, kName));
  await(place, *meeting);
  Bytes total = from(*meeting, 0);
  for (int rank = 1; rank < ranks; rank++) combine(total, from(*meeting, rank), type, op, kName);
  write_buffer(place, recv, total.data() + before, mine, meeting->origin, kName);
  return MPI_SUCCESS;
}

int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int out_bytes, int* position,
             MPI_Comm comm) {
  constexpr const char* kName = "MPI_Pack";
  enter(comm, kName, type);
  check_room(out_bytes, position, packed(count, type, kName), kName);
  const Bytes data = gather_elements(in, count, type, kName);
  work_on_host(2 * data.size());
  store_buffer(at(out, static_cast<std::size_t>(*position)), data.data(), data.size(), data.origin,
               kName);
  *position += static_cast<int>(data.size());
  return MPI_SUCCESS;
}

int MPI_Unpack(const void* in, int in_bytes, int* position, void* out, int count, MPI_Datatype type,
               MPI_Comm comm) {
  constexpr const char* kName = "MPI_Unpack";
  const Place place = enter(comm, kName, type);
  const std::size_t bytes = packed(count, type, kName);
  check_room(in_bytes, position, bytes, kName);
  const Bytes data = read_buffer(at(in, static_cast<std::size_t>(*position)), bytes, kName);
  work_on_host(2 * bytes);
  scatter_elements(place, out, data, kName);
  *position += static_cast<int>(bytes);
  return MPI_SUCCESS;
}

int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int* bytes) {
  enter(comm, "MPI_Pack_size", type);
  *bytes = static_cast<int>(packed(count, type, "MPI_Pack_size"));
  return MPI_SUCCESS;
}

}  // extern "C"
