// The one-sided calls: MPI_Put, MPI_Get, and those that compute at the target.
#include <algorithm>
#include <cstring>

#include "cuda/stream.h"
#include "host/own_memory.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "mpi/mpi_windows.h"
#include "order/host_copies.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::mpi {

namespace {

struct AtTarget {
  int rank;
  MPI_Aint displacement;
  int count;
  MPI_Datatype type;
};
struct Sent {
  const void* start = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
struct Wanted {
  void* start = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

bool lists(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

Epoch epoch_of(const WindowPlace& place, int target, const char* what) {
  const WindowPart& mine = place.mine();
  if (mine.all_locked || mine.locks.contains(target)) return Epoch::Locked;
  if (mine.starts && lists(mine.started, target)) return Epoch::Started;
  if (mine.fenced) return Epoch::Fence;
  fail(kinds::mpi_mismatch,
       format("%s to rank %d: no epoch is open in which rank %d may access its window", what,
              target, place.rank()),
       "call MPI_Win_fence, MPI_Win_lock or MPI_Win_start first");
}

// Where the call goes in the target's window.
std::vector<Piece> target_pieces(const WindowPlace& place, const AtTarget& target,
                                 const char* what) {
  require(target.count >= 0, what, "the count must not be negative");
  const WindowPart& part = place.window->part(target.rank);
  type_bytes(target.type, what);
  std::vector<Piece> pieces = pieces_of(target.count, target.type, what);
  const std::ptrdiff_t start = target.displacement * part.unit;
  for (Piece& piece : pieces) {
    const std::ptrdiff_t first = start + static_cast<std::ptrdiff_t>(piece.offset);
    const std::ptrdiff_t end = first + static_cast<std::ptrdiff_t>(piece.bytes);
    if (piece.bytes && (first < 0 || end > static_cast<std::ptrdiff_t>(part.bytes))) {
      fail(kinds::window_range,
           format("%s of %zu bytes at displacement %td (unit %td) of the window of rank %d, which "
                  "has %zu bytes",
                  what, packed(target.count, target.type, what), target.displacement, part.unit,
                  target.rank, part.bytes),
           "displacements count units of the target's window from its start");
    }
    piece.offset = static_cast<std::size_t>(first);
  }
  return pieces;
}

void check_elements(MPI_Datatype here, MPI_Datatype there, const char* what) {
  const std::string mine = elements_of(here), theirs = elements_of(there);
  if (mine.empty() || theirs.empty() || mine == theirs) return;
  fail(kinds::mpi_mismatch,
       format("%s: the origin has %s, the target %s", what, mine.c_str(), theirs.c_str()),
       "name the same data type on both sides");
}

// The origin's memory, before anything is read from it or written to it.
void check_buffer(const void* p, std::size_t bytes, bool write, const char* what) {
  if (!bytes) return;
  require(p != nullptr, what, "a buffer is NULL");
  if (emulated(p)) {
    note_moving(p, what);
    check_range(p, bytes, what, capture_frames());
  } else {
    check_host_memory(p, bytes, write, what);
  }
}

// Its name among the operations of the run, and what it is ordered behind.
void enter_operation(Window& window, RmaCall& call) {
  Path& path = window.path(call.origin, call.target);
  call.agent = path.flow(call).agent;
  call.time = ++path.time;
  call.id = new_op({.kind = OpKind::Copy,
                    .agent = call.agent,
                    .time = call.time,
                    .rank = current_rank(),
                    .name = call.what,
                    .frames = call.where,
                    .issued = next_in_issue()});
  call.clock = release_clock();
  if (call.epoch == Epoch::Fence) call.clock.join(window.exposed);
  if (call.epoch == Epoch::Locked) {  // who hears of the origin's next steps takes it for complete
    Clock issued;
    issued.advance(path.issuer, call.time);
    acquire_clock(issued);
  }
  if (!g_timed) return;
  std::size_t bytes = 0;
  for (const Piece& piece : call.pieces) bytes += piece.bytes;
  const auto world = [&](int rank) { return window.comm->world[static_cast<std::size_t>(rank)]; };
  call.sent = time_now();
  call.arrives = mpi_arrival(world(call.origin), world(call.target), bytes);
}

std::shared_ptr<RmaCall> made_call(const WindowPlace& place, const char* what, Rma kind,
                                   const Sent& sent, const Wanted& wanted, const AtTarget& target) {
  auto call = std::make_shared<RmaCall>();
  call->what = what;
  call->kind = kind;
  call->origin = place.rank();
  call->target = target.rank;
  call->epoch = epoch_of(place, target.rank, what);
  call->number = place.window->path(place.rank(), target.rank).started;
  call->source = sent.start;
  call->source_count = sent.count;
  call->source_type = sent.type;
  call->result = wanted.start;
  call->result_count = wanted.count;
  call->result_type = wanted.type;
  call->pieces = target_pieces(place, target, what);
  call->element = element_type(target.type);
  call->where = capture_frames();
  call->place = place.place;
  return call;
}

// The sizes of both sides; what is sent must fit, and so must what is got.
void check_sizes(const RmaCall& call, const AtTarget& target, const Sent& sent,
                 const Wanted& wanted) {
  const std::size_t there = packed(target.count, target.type, call.what);
  const auto fits = [&](std::size_t moved, std::size_t room) {
    if (moved <= room) return;
    fail(kinds::mpi_truncation,
         format("%s to rank %d: %zu bytes are moved, and there is room for %zu", call.what,
                call.target, moved, room),
         "make the receiving count at least as large as what is sent");
  };
  if (call.source) {
    fits(packed(sent.count, sent.type, call.what), there);
    check_elements(sent.type, target.type, call.what);
  }
  if (wanted.type != MPI_DATATYPE_NULL) {
    fits(there, packed(wanted.count, wanted.type, call.what));
    check_elements(wanted.type, target.type, call.what);
  }
}

int issue_call(MPI_Win win, const char* what, Rma kind, const Sent& sent, const Wanted& wanted,
               const AtTarget& target, MPI_Op op, const void* compared = nullptr) {
  const WindowPlace place =
      enter_window(win, what, wanted.type != MPI_DATATYPE_NULL ? wanted.type : sent.type);
  if (target.rank == MPI_PROC_NULL) return MPI_SUCCESS;
  require(target.rank >= 0 && target.rank < place.window->comm->size(), what,
          "the target is not a rank of the window");
  Window& window = *place.window;
  auto call = made_call(place, what, kind, sent, wanted, target);
  if (sent.type != MPI_DATATYPE_NULL) {
    check_buffer(sent.start, packed(sent.count, sent.type, what), false, what);
  }
  if (wanted.type != MPI_DATATYPE_NULL) {
    check_buffer(wanted.start, packed(wanted.count, wanted.type, what), true, what);
  }
  check_sizes(*call, target, sent, wanted);
  if (call->accumulates()) {
    for (const MPI_Datatype type : {sent.type, target.type}) {
      if (type != MPI_DATATYPE_NULL) dense_bytes(type, what);
    }
    require(!sent.start ||
                packed(sent.count, sent.type, what) == packed(target.count, target.type, what),
            what, "the counts of the origin and of the target must be of one size");
  }
  if (compared) call->compared = read_buffer(compared, built_in_bytes(target.type), what);
  call->op = op;
  if (call->kind != Rma::Get && window.part(target.rank).no_put && call->epoch == Epoch::Fence) {
    fail(kinds::mpi_mismatch,
         format("%s to rank %d, which has given MPI_MODE_NOPUT to its last MPI_Win_fence", what,
                target.rank),
         "leave the assertion out where other ranks change the window");
  }
  enter_operation(window, *call);
  std::vector<Lent> lent;
  if (sent.start) lent.push_back({sent.start, sent.count, sent.type, false});
  if (wanted.start) lent.push_back({wanted.start, wanted.count, wanted.type, true});
  lend(call->lent, what, lent);
  begin_at_target(window, call);
  begin(window, call);
  return MPI_SUCCESS;
}

int fetch_one(MPI_Win win, const char* what, Rma kind, const void* source, const void* compared,
              void* result, MPI_Datatype type, int target, MPI_Aint displacement, MPI_Op op) {
  require(built_in_bytes(type) != 0, what, "the data type is none of MPI's own");
  const bool reads = op != MPI_NO_OP;
  return issue_call(win, what, kind, reads ? Sent{source, 1, type} : Sent{}, {result, 1, type},
                    {target, displacement, 1, type}, op, compared);
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return issue_call(win, "MPI_Put", Rma::Put, {origin, origin_count, origin_type}, {},
                    {target, target_disp, target_count, target_type}, MPI_REPLACE);
}

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win) {
  return issue_call(win, "MPI_Get", Rma::Get, {}, {origin, origin_count, origin_type},
                    {target, target_disp, target_count, target_type}, MPI_NO_OP);
}

int MPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win win) {
  return issue_call(win, "MPI_Accumulate", Rma::Accumulate, {origin, origin_count, origin_type}, {},
                    {target, target_disp, target_count, target_type}, op);
}

int MPI_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint target_disp,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  const bool reads = op != MPI_NO_OP;
  return issue_call(win, "MPI_Get_accumulate", Rma::Fetch,
                    reads ? Sent{origin, origin_count, origin_type} : Sent{},
                    {result, result_count, result_type},
                    {target, target_disp, target_count, target_type}, op);
}

int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  return fetch_one(win, "MPI_Fetch_and_op", Rma::Fetch, origin, nullptr, result, type, target,
                   target_disp, op);
}

int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                         int target, MPI_Aint target_disp, MPI_Win win) {
  require(compare != nullptr, "MPI_Compare_and_swap", "a buffer is NULL");
  return fetch_one(win, "MPI_Compare_and_swap", Rma::Swap, origin, compare, result, type, target,
                   target_disp, MPI_REPLACE);
}

}  // extern "C"
