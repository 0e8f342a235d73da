// Start and end of MPI, and its communicators.
#include <algorithm>
#include <cstring>

#include "behavior/iterations.h"
#include "cuda/stream.h"
#include "machine/virtual_time.h"
#include "memory/memory.h"
#include "mpi/mpi_exit.h"
#include "mpi/mpi_objects.h"
#include "timing/timing.h"

namespace warploom::mpi {

namespace {

enum class Phase { Before, Running, After };
std::map<const Process*, Phase> g_phase;
std::map<const Process*, Frames> g_started;
std::map<int, std::unique_ptr<Comm>> g_mpi_comms;
std::map<int, int> g_self;  // communicator of MPI_COMM_SELF, by process
int g_next_handle = kComms + 3;

Comm& world() {
  auto& slot = g_mpi_comms[MPI_COMM_WORLD];
  if (!slot) {
    std::vector<int> ranks;
    for (const auto& process : g_processes) ranks.push_back(process->rank);
    new_comm(std::move(ranks));
  }
  return *g_mpi_comms[MPI_COMM_WORLD];
}

Comm& self_comm() {
  const int rank = current_process().rank;
  const auto it = g_self.find(rank);
  if (it != g_self.end()) return *g_mpi_comms[it->second];
  world();
  Comm* comm = new_comm({rank});
  g_self[rank] = comm->handle;
  return *comm;
}

int start(const char* what, int level) {
  Phase& phase = g_phase[&current_process()];
  if (phase != Phase::Before) {
    fail(kinds::mpi_mismatch, format("%s is called after MPI was started", what),
         "call MPI_Init once, at the start of main");
  }
  phase = Phase::Running;
  g_started[&current_process()] = capture_frames();
  start_threads(level);
  return MPI_SUCCESS;
}

struct Split {
  int color, key, rank;
};

// Each color becomes a communicator, ordered by key and rank; -1 where a rank is in none.
std::vector<int> make_children(const Comm& parent, const Meeting& meeting) {
  std::vector<Split> all;
  for (int rank = 0; rank < parent.size(); rank++) {
    Split split;
    std::memcpy(&split, meeting.data[static_cast<std::size_t>(rank)].data(), sizeof split);
    all.push_back(split);
  }
  std::stable_sort(all.begin(), all.end(), [](const Split& a, const Split& b) {
    return std::tie(a.color, a.key, a.rank) < std::tie(b.color, b.key, b.rank);
  });
  std::vector<int> handles(all.size(), MPI_COMM_NULL);
  std::size_t i = 0;
  while (i < all.size()) {
    std::size_t end = i;
    while (end < all.size() && all[end].color == all[i].color) end++;
    if (all[i].color != MPI_UNDEFINED) {
      std::vector<int> members;
      for (std::size_t m = i; m < end; m++) {
        members.push_back(parent.world[static_cast<std::size_t>(all[m].rank)]);
      }
      const Comm* child = new_comm(std::move(members));
      for (std::size_t m = i; m < end; m++) {
        handles[static_cast<std::size_t>(all[m].rank)] = child->handle;
      }
    }
    i = end;
  }
  return handles;
}

}  // namespace

int split(MPI_Comm comm, int color, int key, MPI_Comm* out, const char* what) {
  const Place place = enter(comm, what);
  require(out != nullptr, what, "the result's address must not be NULL");
  const Split mine{color, key, place.rank};
  Bytes data(sizeof mine);
  std::memcpy(data.data(), &mine, sizeof mine);
  auto meeting = post(place, what, "", std::move(data));
  if (meeting->arrived == place.comm->size()) {
    meeting->numbers = make_children(*place.comm, *meeting);
  }
  await(place, *meeting);
  *out = meeting->numbers[static_cast<std::size_t>(place.rank)];
  return MPI_SUCCESS;
}

std::string Comm::missing(const std::vector<bool>& present) const {
  std::string text;
  int shown = 0;
  for (int rank = 0; rank < size(); rank++) {
    if (present[static_cast<std::size_t>(rank)]) continue;
    if (shown++ == 8) return text + " and more";
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  return text;
}

Comm* new_comm(std::vector<int> world) {
  const int handle = g_mpi_comms[MPI_COMM_WORLD] ? g_next_handle++ : MPI_COMM_WORLD;
  auto& slot = g_mpi_comms[handle];
  slot = std::make_unique<Comm>();
  slot->handle = handle;
  const std::size_t size = world.size();
  slot->world = std::move(world);
  slot->calls.resize(size);
  slot->arrived.resize(size);
  slot->posted.resize(size);
  slot->freed.resize(size);
  return slot.get();
}

void fail(const char* kind, std::string message, const char* hint, const Frames& other) {
  report_finding({.kind = kind, .message = std::move(message), .hint = hint, .other = other});
  stop_run();
}

void require(bool check, const char* what, const char* rule) {
  if (!check) fail(kinds::mpi_mismatch, format("%s: %s", what, rule), "correct the argument");
}

const std::map<int, std::unique_ptr<Comm>>& communicators() { return g_mpi_comms; }

static Comm* known_comm(MPI_Comm handle) {
  if (handle == MPI_COMM_WORLD) return &world();
  const auto found = g_mpi_comms.find(handle);
  return found == g_mpi_comms.end() ? nullptr : found->second.get();
}

Place enter(MPI_Comm handle, const char* what, MPI_Datatype type) {
  require(!g_reducing, what, "an operation of MPI_Op_create must not communicate (MPI 3.1, 5.9.5)");
  host_call(g_machine.host_call_ns);
  trace([&] { return std::string(what); });
  switch (g_phase[&current_process()]) {
    case Phase::Before:
      fail(kinds::mpi_mismatch, format("%s is called before MPI_Init", what),
           "call MPI_Init first");
    case Phase::After:
      fail(kinds::mpi_mismatch, format("%s is called after MPI_Finalize", what),
           "call MPI_Finalize last");
    default:
      check_thread(what);
  }
  Comm* comm = handle == MPI_COMM_SELF ? &self_comm() : known_comm(handle);
  require(comm != nullptr, what, "the communicator is MPI_COMM_NULL or does not exist");
  const auto member = std::find(comm->world.begin(), comm->world.end(), current_process().rank);
  require(member != comm->world.end(), what, "the caller is not in the communicator");
  const auto rank = static_cast<int>(member - comm->world.begin());
  require(!comm->freed[static_cast<std::size_t>(rank)], what, "the communicator was freed");
  if (type != MPI_DATATYPE_NULL) require_committed(type, what);
  Place place{comm, rank, type};
  if (type != MPI_DATATYPE_NULL && g_config.readbacks) {
    place.call = {.rank = current_rank(),
                  .thread = g_current->host ? g_current->host->number : 0,
                  .order = next_in_issue(),
                  .call = what,
                  .elements = type_name(element_type(type)),
                  .where = capture_frames()};
  }
  return place;
}

std::size_t ranks_in(MPI_Comm handle) {
  if (handle == MPI_COMM_SELF) return 1;
  const Comm* comm = known_comm(handle);
  return comm ? comm->world.size() : 0;
}

void check_finalized(const Process& process) {
  const auto found = g_phase.find(&process);
  if (found == g_phase.end() || found->second != Phase::Running) return;
  report_finding({.kind = kinds::mpi_not_finalized,
                  .message = format("rank %d ends without MPI_Finalize: mpirun takes that for a "
                                    "failure and ends the job",
                                    process.rank),
                  .hint = "call MPI_Finalize on every way out of main",
                  .warning = true,
                  .where = g_started[&process],
                  .host = true});
}

int rank_in(MPI_Comm handle) {
  if (handle == MPI_COMM_SELF) return 0;
  const Comm* comm = known_comm(handle);
  if (!comm) return -1;
  const auto member = std::ranges::find(comm->world, current_process().rank);
  return member == comm->world.end() ? -1 : static_cast<int>(member - comm->world.begin());
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_Init(int*, char***) { return start("MPI_Init", MPI_THREAD_SINGLE); }

int MPI_Init_thread(int*, char***, int required, int* provided) {
  if (provided) *provided = required;
  return start("MPI_Init_thread", required);
}

int MPI_Initialized(int* flag) {
  *flag = g_phase[&current_process()] != Phase::Before;
  return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
  *flag = g_phase[&current_process()] == Phase::After;
  return MPI_SUCCESS;
}

int MPI_Query_thread(int* provided) {
  *provided = thread_level();
  return MPI_SUCCESS;
}

int MPI_Finalize() {
  const Place place = enter(MPI_COMM_WORLD, "MPI_Finalize");
  await(place, *post(place, "MPI_Finalize", "", {}));
  report_unfinished();
  forget_buffer();
  g_phase[&current_process()] = Phase::After;
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) {
  // Whoever aborts has failed, whatever number it chose.
  end_process(code & 0xFF ? code & 0xFF : 1);
  return MPI_ERR_OTHER;
}

int MPI_Error_string(int code, char* text, int* length) {
  const char* words = code == MPI_SUCCESS ? "no error" : "MPI error";
  *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "%s (%d)", words, code);
  return MPI_SUCCESS;
}

int MPI_Error_class(int code, int* error_class) {
  *error_class = code;
  return MPI_SUCCESS;
}

int MPI_Get_processor_name(char* name, int* length) {
  *length = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", machine_name().c_str());
  return MPI_SUCCESS;
}

int MPI_Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Get_library_version(char* version, int* length) {
  *length =
      std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", warploom::mpi::kLibrary.data());
  return MPI_SUCCESS;
}

double MPI_Wtime() {
  note_clock();
  return host_clock_ns() * 1e-9;
}
double MPI_Wtick() { return 1e-9; }

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = enter(comm, "MPI_Comm_rank").rank;
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  *size = enter(comm, "MPI_Comm_size").comm->size();
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* out) {
  return split(comm, color, key, out, "MPI_Comm_split");
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info, MPI_Comm* out) {
  const int color = type == MPI_COMM_TYPE_SHARED ? machine_of(current_process()) : MPI_UNDEFINED;
  return split(comm, color, key, out, "MPI_Comm_split_type");
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) { return split(comm, 0, 0, out, "MPI_Comm_dup"); }

int MPI_Comm_free(MPI_Comm* comm) {
  const Place place = enter(*comm, "MPI_Comm_free");
  require(place.comm->handle != MPI_COMM_WORLD, "MPI_Comm_free", "MPI_COMM_WORLD is not freed");
  place.comm->freed[static_cast<std::size_t>(place.rank)] = true;
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

MPI_Fint MPI_Comm_c2f(MPI_Comm handle) { return handle; }
MPI_Comm MPI_Comm_f2c(MPI_Fint handle) { return handle; }
MPI_Fint MPI_Type_c2f(MPI_Datatype handle) { return handle; }
MPI_Datatype MPI_Type_f2c(MPI_Fint handle) { return handle; }
MPI_Fint MPI_Op_c2f(MPI_Op handle) { return handle; }
MPI_Op MPI_Op_f2c(MPI_Fint handle) { return handle; }
MPI_Fint MPI_Group_c2f(MPI_Group handle) { return handle; }
MPI_Group MPI_Group_f2c(MPI_Fint handle) { return handle; }
MPI_Fint MPI_Info_c2f(MPI_Info handle) { return handle; }
MPI_Info MPI_Info_f2c(MPI_Fint handle) { return handle; }
MPI_Fint MPI_Win_c2f(MPI_Win handle) { return handle; }
MPI_Win MPI_Win_f2c(MPI_Fint handle) { return handle; }

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler) {
  enter(comm, "MPI_Comm_set_errhandler");
  return MPI_SUCCESS;
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) {
  return MPI_Comm_set_errhandler(comm, handler);
}

}  // extern "C"
