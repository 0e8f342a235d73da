// Emulated one-sided MPI: windows, and what is under way to and from them.
//
// A call is complete only where MPI says so: at a fence, at the target's MPI_Win_wait, or at an
// unlock or flush. When data moves before that is the timing's choice (world.h): at once, at the
// last moment, or at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "mpi/mpi_objects.h"

namespace warploom::mpi {

// By which of MPI's ways a call may access its target: what completes it.
enum class Epoch { None, Fence, Started, Locked };
enum class Rma { Put, Get, Accumulate, Fetch, Swap };

struct RmaCall {
  const char* what = "";
  Rma kind = Rma::Put;
  Epoch epoch = Epoch::None;
  uint32_t number = 0;         // of the epoch among those that the origin has started there
  int origin = 0, target = 0;  // ranks of the window
  // In the origin's memory: what it sends, what it gets.
  const void* source = nullptr;
  int source_count = 0;
  MPI_Datatype source_type = MPI_DATATYPE_NULL;
  void* result = nullptr;
  int result_count = 0;
  MPI_Datatype result_type = MPI_DATATYPE_NULL;
  Bytes compared;             // of a compare-and-swap
  std::vector<Piece> pieces;  // of the target's memory, from its window's start
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  Bytes data, fetched;
  bool read = false;        // `data` is there
  bool landed = false;      // the target's memory was accessed
  bool returned = false;    // the origin has its buffers back
  bool only_local = false;  // and that is all it has heard
  bool is_over() const { return landed && returned && !only_local; }
  Frames where;
  Place place{};  // of the call
  Clock clock;    // what is ordered before its access of the target
  OpId id = 0;
  AgentId agent = 0;
  uint32_t time = 0;
  Clock learnt;                  // what who gets its result takes over
  bool entered = false;          // into the history of the target's memory
  AgentId seen_by = 0;           // the target's code has looked, and the data was there
  uint32_t seen = 0;             // at this time of that agent; 0: it has not
  double sent = 0, arrives = 0;  // modelled
  warploom_mpi_request lent;     // what the origin has lent
  bool accumulates() const { return kind != Rma::Put && kind != Rma::Get; }
  bool fetches() const { return kind != Rma::Put && kind != Rma::Accumulate; }
  bool updates() const { return op != MPI_NO_OP; }  // the target's memory
};

// Where a call is complete (MPI_Win_flush_local: at its origin alone).
enum class Side { Origin, Both };

// Which calls of a window: -1 means any rank.
struct Chosen {
  int origin, target;
  Epoch epoch;
  bool holds(const RmaCall& call) const {
    return (origin < 0 || call.origin == origin) && (target < 0 || call.target == target) &&
           call.epoch == epoch;
  }
};

// Calls of one sort from one rank to another, which complete in their order or all at once.
struct Flow {
  AgentId agent = 0;
  uint32_t done = 0;  // the last that is complete; earlier ones need not be
};

// The way from one rank to another.
struct Path {
  Flow updates, reads;  // what only reads completes without the rest (MPI_Win_flush_local)
  AgentId issuer = 0;   // of the moments when calls are issued
  uint32_t time = 0;
  uint32_t posted = 0, started = 0, completed = 0;
  Clock post, complete;
  // Calls that the target knows of only because it has looked at its memory: it may be waiting for
  // them so.
  uint32_t looked_from = 1, looked_to = 0;
  // What was fetched last, and where: a loop that fetches it again waits for a change.
  std::size_t fetched_at = ~std::size_t{0};
  std::vector<char> fetched;
  Flow& flow(const RmaCall& call) { return call.updates() ? updates : reads; }
};

class WindowHistory;

// A rank's part of a window.
struct WindowPart {
  char* base = nullptr;
  std::size_t bytes = 0;
  int device = 0;  // that the rank has used last
  std::ptrdiff_t unit = 1;
  bool freed = false;
  bool fenced = false;       // the last fence has opened an epoch
  bool no_put = false;       // and said that nobody stores here in it
  bool next_no_put = false;  // what a fence says that not all have come to yet
  bool starts = false;
  std::vector<int> started, posted;  // ranks of the epochs of MPI_Win_start and MPI_Win_post
  bool posts = false;
  Lateness late;             // of the epoch's end, for who tests
  std::map<int, int> locks;  // that it holds, by target: MPI_LOCK_...
  bool all_locked = false;
  // As a target: who holds its lock, and what they have done.
  int exclusive = -1;
  std::vector<int> shared;
  Clock by_exclusive, by_shared;
  // Results that came to its host and that it has not been told of. They are told in an order that
  // does not depend on when they came: where several ranks add to a place, what is there in the
  // end.
  struct Arrived {
    const char* start;
    std::size_t bytes;
    Bytes data;  // empty: what lies there in the end
    MPI_Datatype element;
    Epoch epoch;
    int origin;
    uint32_t time;
  };
  std::vector<Arrived> arrived;
  std::shared_ptr<WindowHistory> history;  // of ordinary memory that is the rank's alone
  bool synced = false;                     // its last call of the window was MPI_Win_sync
};

enum class Memory { OfProgram, Allocated, Shared };

struct Window {
  MPI_Win handle = MPI_WIN_NULL;
  Comm* comm = nullptr;  // of its own, with the ranks of the one it was made on
  Memory memory = Memory::OfProgram;
  std::vector<WindowPart> parts;
  std::map<std::pair<int, int>, Path> paths;   // by origin and target
  std::deque<std::shared_ptr<RmaCall>> calls;  // under way, in order of issue
  Clock exposed;                               // what every rank did before the last fence
  Clock landed;                                // and what the calls did that it completed
  Clock synced;                                // by MPI_Win_sync, of a shared one
  // What accumulations of single elements have released there.
  std::map<const char*, Clock> released;
  char* segment = nullptr;  // of a shared one
  std::size_t segment_bytes = 0;
  int left = 0;  // ranks that have freed it
  WaitQueue changed;
  WindowPart& part(int rank) { return parts[static_cast<std::size_t>(rank)]; }
  Path& path(int origin, int target);
};

struct WindowPlace {
  Window* window;
  Place place;
  int rank() const { return place.rank; }
  WindowPart& mine() const { return window->part(place.rank); }
};
// The window and the caller's rank in it; ends the run if the call is not allowed.
inline constexpr std::string_view kSync = "MPI_Win_sync";
WindowPlace enter_window(MPI_Win handle, const char* what, MPI_Datatype type = MPI_DATATYPE_NULL);

// mpi_win_history.cpp: histories for the window's ordinary memory, and none when a rank is done.
void make_histories(Window& window);
void drop_history(const WindowPlace& place);

// mpi_win_transfer.cpp: the steps of a call. Only its origin reads sources and returns buffers.
void begin(Window& window, const std::shared_ptr<RmaCall>& call);  // as the timing says
void read_sources(Window& window, const Chosen& chosen);
void land(Window& window, const Chosen& chosen, bool fetches_only = false);
// The origin gets its results and buffers back; what has landed too is over.
void return_buffers(Window& window, const Chosen& chosen, Side side = Side::Both);
// Waits for nobody: all of them are complete for both sides, and ordered before the origin.
void complete_calls(Window& window, const Chosen& chosen);
// Whether the target has opened the epoch that the call is in.
bool is_exposed(Window& window, const RmaCall& call);
// The target's memory is the call's from now on, if it has been exposed.
void begin_at_target(Window& window, const std::shared_ptr<RmaCall>& call);
// The last of several updates comes first: nothing orders them before they are complete.
// False: there are not several.
bool land_last(Window& window, const Chosen& chosen);
const RmaCall* first_of(const Window& window, const Chosen& chosen);
// The caller's host learns what has come to its memory: at a call of all ranks, or of the target
// alone for what came in the epoch of its MPI_Win_post.
void tell_arrived(const WindowPlace& place, bool all);

// Ranks in MPI_COMM_WORLD of a group.
const std::vector<int>& members_of(MPI_Group group, const char* what);

}  // namespace warploom::mpi
