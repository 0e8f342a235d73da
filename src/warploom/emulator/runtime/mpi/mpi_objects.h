// Emulated MPI: communicators, data types, collectives and messages among processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../include/mpi.h"
#include "base/config.h"
#include "base/flags.h"
#include "base/polling.h"
#include "behavior/arrivals.h"
#include "host/handles.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom::mpi {

// What MPI_Get_library_version says, as mpi.h does.
inline constexpr std::string_view kLibrary = "Open MPI v4.1.4, emulated by warploom";

// Where bytes lay that a rank sends.
struct Origin {
  bool computed = false;   // some of them on a device: results, where a host gets them
  bool uncounted = false;  // some of them where nobody counts what is carried over (carried.h)
  bool hidden = false;     // some of them where no host can load: it gets them by this call
  void join(const Origin& more) {
    computed |= more.computed;
    uncounted |= more.uncounted;
    hidden |= more.hidden;
  }
};

struct Bytes : std::vector<char> {
  using std::vector<char>::vector;
  Origin origin;
  void append(const Bytes& more) {
    insert(end(), more.begin(), more.end());
    origin.join(more.origin);
  }
  // Its size first, for who looks for the next one.
  void append_sized(const Bytes& more) {
    const std::size_t size = more.size();
    const auto* header = reinterpret_cast<const char*>(&size);
    insert(end(), header, header + sizeof size);
    append(more);
  }
};

// One collective call of a communicator: what each rank brought, and who was there.
constexpr int kTagMost = 32767;  // what MPI_TAG_UB is at least (MPI 3.1, 8.1.2)

struct Meeting {
  std::string what, details;
  std::string elements;  // what the first to say so moves
  Frames where;
  int first_rank = 0;
  std::vector<bool> present;
  std::vector<Bytes> data;
  Origin origin;  // of all data
  std::vector<Clock> clocks;
  Clock joined;  // of the first ranks
  std::size_t joined_ranks = 0;
  std::vector<int> numbers;  // a result that the last to arrive works out
  int arrived = 0;
  bool some_need_few = false;  // somebody waits for some of the ranks only
  struct Left {
    Frames where;
    int rank;             // in the world
    std::string missing;  // who had not come
  };
  std::optional<Left> left;  // who went on first, as nobody else could
  WaitQueue changed;
};

struct Message {
  int source = 0, destination = 0, tag = 0;
  const char* call = "MPI_Send";
  Bytes data;
  std::string elements;
  Clock clock;
  Frames where;
  bool matched = false;
  bool taken = false;          // by the receiver
  std::optional<int> left_by;  // the rank that went on without a receive, as nobody else could
  std::unique_ptr<warploom_mpi_request> freed;  // MPI_Request_free: nobody will complete it
  double sent = 0, arrives = 0;                 // modelled time
  Lateness late;                                // for who probes
  WaitQueue changed;
};

// A posted receive.
struct Receive {
  int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
  std::size_t capacity = 0;
  std::string elements;
  Frames where;
  std::shared_ptr<Message> message;  // once matched
  bool waited = false;               // somebody waits for it
  WaitQueue changed;
};

struct Comm {
  int handle = 0;
  std::vector<int> world;       // rank in MPI_COMM_WORLD of each member
  std::vector<uint64_t> calls;  // collectives made by each rank
  std::map<uint64_t, std::shared_ptr<Meeting>> meetings;
  std::vector<std::deque<std::shared_ptr<Message>>> arrived;  // unmatched, by destination
  std::vector<std::deque<std::shared_ptr<Receive>>> posted;   // unmatched, by destination
  WaitQueue probes;
  std::vector<bool> freed;  // by rank
  int size() const { return static_cast<int>(world.size()); }
  std::string missing(const std::vector<bool>& present) const;
};

// The communicator and the caller's rank in it; ends the run if the call is not allowed.
struct Place {
  Comm* comm;
  int rank;
  MPI_Datatype type = MPI_DATATYPE_NULL;  // of what the call moves
  Arrival call{};                         // what it brings the caller, if it moves anything
};
void start_threads(int level);
int thread_level();                   // that the process has asked for
void check_thread(const char* what);  // whether the running thread may call MPI now
extern bool g_reducing;               // an operation of the program's runs
Place enter(MPI_Comm handle, const char* what, MPI_Datatype type = MPI_DATATYPE_NULL);
Comm* new_comm(std::vector<int> world);
// mpi_buffers.cpp: MPI_Finalize ends the use of the attached buffer.
void forget_buffer();
// By handle; some may be empty.
const std::map<int, std::unique_ptr<Comm>>& communicators();
// What the running process has started and not completed, and who sent it what it has not received.
void report_unfinished();
// What a call's lists are as long as, before it is made: 0, and rank -1, where it will fail.
std::size_t ranks_in(MPI_Comm handle);
int rank_in(MPI_Comm handle);
std::size_t dimensions_of(MPI_Comm handle);  // of a grid
// A collective call `what`: each color becomes a communicator, ordered by key and rank.
int split(MPI_Comm comm, int color, int key, MPI_Comm* out, const char* what);

[[noreturn]] void fail(const char* kind, std::string message, const char* hint,
                       const Frames& other = {});
// What `check` finds false is a wrong argument: MPI's default is to end the job.
void require(bool check, const char* what, const char* rule);

// Where the numbers of each kind of handle begin, and the number of one: -1 for another kind's.
constexpr int kComms = 0x44000000, kGroups = 0x48000000, kTypes = 0x4c000000, kOps = 0x58000000,
              kInfos = 0x5c000000, kWindows = 0x60000000, kFiles = 0x64000000;
inline int number_of(int handle, int kind) {
  const unsigned number = static_cast<unsigned>(handle) - static_cast<unsigned>(kind);
  return number < 1u << 24 ? static_cast<int>(number) : -1;
}
// What a handle names, of things that are numbered from 1 in their order; null for none of them.
template <class Thing>
Thing* named_by(int handle, int kind, std::vector<Thing>& things) {
  const int number = number_of(handle, kind);
  if (number < 1 || number > static_cast<int>(things.size())) return nullptr;
  return &things[static_cast<std::size_t>(number - 1)];
}

constexpr int kBuiltIn = 32;                    // data types below are MPI's own
std::size_t built_in_bytes(MPI_Datatype type);  // 0: derived, or none
// Bytes of one element's data, without its gaps; `dense_bytes` refuses a type that has gaps.
std::size_t type_bytes(MPI_Datatype type, const char* what);
std::size_t dense_bytes(MPI_Datatype type, const char* what);
const char* type_name(MPI_Datatype type);
void require_committed(MPI_Datatype type, const char* what);
// The elements of a type in words, where both sides must agree; empty for bytes, which fit all.
std::string elements_of(MPI_Datatype type);
// Ends the run where a collective call sends other elements than it receives.
void check_elements(const void* send, MPI_Datatype sent, MPI_Datatype received, const char* what);
// What a meeting compares of a call where MPI_IN_PLACE is for all ranks or none.
std::string with_place(std::string details, const void* send);
MPI_Datatype element_type(MPI_Datatype type);  // what a derived one is made of

// The running rank is about to move a buffer's data. Where that is a device's, it is a call of the
// rank's work, and takes so many copies, one behind the other.
void note_moving(const void* buffer, const char* what, int copies = 1);
// Copies between the program's memory and ours, host or device memory alike.
Bytes read_buffer(const void* p, std::size_t bytes, const char* what);
void write_buffer(const Place& place, void* p, const char* data, std::size_t bytes,
                  const Origin& origin, const char* what);
// Its parts: to store, and to say that the host has got what a device has computed.
void store_buffer(void* p, const char* data, std::size_t bytes, const Origin& origin,
                  const char* what);
void tell_arrival(const Place& place, const void* p, const char* data, std::size_t bytes,
                  const Origin& origin);
// The same for `count` elements of a type that may have gaps; writes as many as there is data for.
Bytes gather_elements(const void* p, int count, MPI_Datatype type, const char* what);
void scatter_elements(const Place& place, void* p, const Bytes& data, const char* what);

// The running process's data goes to other ranks: it is noted (iterations.h), and what they get is
// altered in a spoil run (spoil.h).
void leave_rank(const Place& place, Bytes& data);
// The same for data of `type` that another rank takes from the one that uses `device`.
void leave_device(int device, MPI_Datatype type, Bytes& data);
// Memory that a started call has until it is completed: it reads it, or writes it.
struct Lent {
  const void* start;
  int count;
  MPI_Datatype type;
  bool written;
};
extern HandleTable<warploom_mpi_request> g_request_handles;
void lend(warploom_mpi_request& request, const char* what, const std::vector<Lent>& buffers);
void give_back(warploom_mpi_request& request);
// The running agent learns that the call is over.
void learn_of_end(warploom_mpi_request& request);
// Gives what has arrived to the receives that are posted, in the order in which they were.
void match_late(Comm& comm, int rank);
// Is it the schedule in which all comes as late as MPI allows?
inline bool comes_late() { return !g_timed && g_config.timing == NetTiming::Lazy; }
// mpi_messages.cpp: calls that go on by themselves; `what` is shown in reports.
struct Started {
  const char* what;
  bool synchronous = false;
};
warploom_mpi_request* start_send(const Place& place, const void* buffer, int count, int destination,
                                 int tag, Started how);
warploom_mpi_request* start_receive(const Place& place, void* buffer, int count, int source,
                                    int tag, const char* what);
// Waits until the message has a receive.
void wait_for_match(Comm& comm, Message& message, const char* what);
warploom_mpi_request* finished_request();  // nothing to do: a peer of MPI_PROC_NULL
void check_peer(const Place& place, int peer, bool any, const char* what);
void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes);
// Waits for a started call, whose request is none afterwards, or waits to be started again.
void finish_request(MPI_Request* request, MPI_Status* status);
// The pieces of `count` elements that hold data.
struct Piece {
  std::size_t offset, bytes;
};
std::vector<Piece> pieces_of(int count, MPI_Datatype type, const char* what);

// Ends a collective by `finish` once those of `needs` are there: at once where `request` is
// nullptr, and else when the request is waited for.
int end_collective(const Place& place, std::shared_ptr<Meeting> meeting, std::vector<int> needs,
                   std::function<void()> finish, MPI_Request* request,
                   const std::vector<Lent>& buffers = {});
std::shared_ptr<Meeting> post(const Place& place, const char* what, std::string details,
                              Bytes data);
// Waits for the ranks that `needs` names (all of them if it is empty), and takes their order over.
void linger_for_all(const Comm& comm, Meeting& meeting);
void await(const Place& place, Meeting& meeting, const std::vector<int>& needs = {});
bool is_complete(const Meeting& meeting, const std::vector<int>& needs);
void acquire_from(Meeting& meeting, const std::vector<int>& needs);

// Bytes of `count` elements without gaps, the data of a rank, and an address `offset` bytes on.
std::size_t extent(int count, MPI_Datatype type, const char* what);
// Bytes of data in `count` elements of any type.
std::size_t packed(int count, MPI_Datatype type, const char* what);
void check_root(const Place& place, int root, const char* what);
// What a call reads, and what it writes: MPI forbids that they overlap.
struct Used {
  const void* start;
  std::size_t bytes;
};
// Is no byte in two of them?
bool lie_apart(std::vector<Used> parts);
void check_aliasing(const std::vector<Used>& read, const std::vector<Used>& written,
                    const char* what);
inline const Bytes& from(const Meeting& meeting, int rank) {
  return meeting.data[static_cast<std::size_t>(rank)];
}
inline char* at(void* p, std::size_t offset) { return static_cast<char*>(p) + offset; }
inline const char* at(const void* p, std::size_t offset) {
  return static_cast<const char*>(p) + offset;
}

// Element by element: into = op(into, from).
void combine(Bytes& into, const Bytes& from, MPI_Datatype type, MPI_Op op, const char* what);
const char* op_name(MPI_Op op);
// mpi_ops.cpp: the same by a function of the program. Its operations have the numbers from here on.
constexpr MPI_Op kUserOps = kOps + 32;
void combine_by_program(Bytes& into, const Bytes& from, MPI_Datatype type, MPI_Op op,
                        const char* what);

}  // namespace warploom::mpi

// A call that was started and not waited for.
struct warploom_mpi_request {
  const char* what = "";
  warploom::Frames where = warploom::capture_frames();
  bool receives = false, collective = false;
  // A persistent request (MPI_Send_init and its like) has no more than this: what a start makes,
  // and what was started last, until that is complete.
  std::function<warploom_mpi_request*()> start;
  std::unique_ptr<warploom_mpi_request> started;
  std::function<bool()> ready;
  std::function<void(MPI_Status*)> finish;
  std::function<void()> block;
  std::function<void()> linger;  // MPI may let who waits for it do so longer
  warploom::Lateness late;       // for who tests
  // What lend() notes: watched host memory, and the agent that has memory of devices.
  std::vector<int> watches;
  warploom::AgentId agent = 0;
  uint32_t time = 0;
  std::shared_ptr<warploom::mpi::Message> message;  // that it sends
};
