// Communicators, windows and device communicators: one object per rank, and one shared by all
// ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda/stream.h"
#include "machine/world.h"
#include "nccl/nccl_shim.h"
#include "order/one_thread.h"
#include "report/report.h"

namespace warploom {
struct Allocation;
}
namespace warploom::nccl {
struct Clique;
struct CollectiveMeeting;
struct WindowSet;
struct DevComm;
struct DevCommSet;
struct Task;
struct Turn;
}  // namespace warploom::nccl

// One rank of a communicator.
struct ncclComm {
  warploom::nccl::Clique* clique = nullptr;
  int rank = 0;
  int device = 0;
  warploom::Process* process = nullptr;
  bool ready = false, destroyed = false;
  std::optional<warploom::Frames> finalized;
  warploom::Frames created, ended;
  uint64_t meetings = 0;                              // host-side collective calls made
  uint64_t collectives = 0;                           // data collectives issued
  int pending = 0;                                    // operations issued and not complete
  std::shared_ptr<warploom::nccl::Turn> latest;       // of the operation issued last
  int rma_contexts = 1, rma_signals = 1;              // of one-sided calls
  uint64_t shrinks = 0, grows = 0;                    // made of it
  warploom::OneThread issuer;                         // of operations
  const warploom::HostThread* last_issuer = nullptr;  // of collectives
  bool blocking = true;
  std::optional<warploom::Frames> in_progress;  // the call that goes on in the background
  int looks = 0;                                // at its state, since then
  std::vector<ncclComm*> children;              // that a call in the background makes
  std::vector<ncclWindow_t> registering;        // windows, in the background
  warploom::WaitQueue idle;
  std::string last_error;
};

// The memory of one rank in a window.
struct ncclWindow_vidmem {
  warploom::nccl::WindowSet* set = nullptr;
  ncclComm* comm = nullptr;
  int rank = 0;
  char* base = nullptr;
  std::size_t bytes = 0;
  bool live = true;
  bool internal = false;  // of a device communicator's own resources
  // Its memory, which is no other's before it is deregistered.
  const warploom::Allocation* allocation = nullptr;
  std::size_t in_use = 0;  // by puts and gets whose bytes have not been read, or not landed
  // The last kernel that was launched before the program knew that the registration was over.
  uint32_t too_early = 0;
  warploom::Frames registered, deregistered;
};

namespace warploom::nccl {

// Ranks that call the same host function meet here; `argument` is what each of them brought.
struct HostMeeting {
  const char* what = "";
  std::string details;
  Frames where;
  int first_rank = 0;
  std::vector<void*> argument;
  std::vector<bool> present;
  Clock clock;
  int arrived = 0;
  WaitQueue done;
};

// Signals of one-sided host calls, from one rank to another, by context and number.
struct Inbox {
  std::deque<Clock> arrived;  // not consumed
  uint64_t dropped = 0;       // consumed
  uint64_t awaited = 0;       // by all waits so far
  Clock order;                // of all that were consumed
};

// NCCL runs the operations of a communicator one after the other, whatever streams they are given
// to: it orders their streams by events (NVIDIA/nccl issue 574). This is the end of one of them.
struct Turn {
  bool over = false;
  Clock clock;
  double time = 0;                             // modelled
  const Stream* stream = nullptr;              // that it is queued on
  std::vector<std::function<void()>> waiting;  // start the next ones
};

// All ranks of a communicator.
// A window that a rank registered: where the call and its buffer are from, and where the handle
// goes.
struct Registration {
  std::string origin;
  std::size_t bytes;
  uintptr_t handle;
};

struct Clique {
  uint64_t id = 0;
  int size = 0;
  int joined = 0;
  int lsa_size = 0;  // set when all have joined
  std::vector<ncclComm*> members;
  Frames where;  // of the first to join
  Clock clock;
  WaitQueue waiting;
  std::map<uint64_t, std::shared_ptr<HostMeeting>> meetings;
  std::map<uint64_t, std::shared_ptr<CollectiveMeeting>> collectives;
  std::map<std::pair<int, int>, std::deque<Task*>> sends, receives;  // by sender and receiver
  std::map<std::tuple<int, int, int, int>, Inbox> inboxes;  // sender, receiver, context, signal
  std::vector<Task*> waiting_signals;
  // Who registered what, in order, to find windows that were paired wrongly.
  std::vector<std::vector<Registration>> registrations;
  // Windows by their place among multimem addresses (multimem.h).
  std::map<std::size_t, WindowSet*> multimem;
  std::size_t multimem_top = 0;

  std::string missing(const std::vector<bool>& present) const;  // ranks, in words
};

struct WindowSet {
  Clique* clique = nullptr;
  std::vector<ncclWindow_t> members;
  std::size_t multimem_offset = 0;  // 0: nobody has asked for it
};

// --- helpers that every part uses ---------------------------------------------------------------

// Reports, and ends the run: there is no sensible way to go on.
[[noreturn]] void fail(FindingInfo info);
// nullptr, with the reason reported, if `comm` cannot be used by the call `what`.
ncclComm* usable(ncclComm_t comm, const char* what);
// Reports a configuration that was not initialized with its macro.
bool config_valid(const ncclConfig_t* config);
ncclResult_t set_error(ncclComm* comm, ncclResult_t result, std::string why);

// A host call that meets its partners; inside of a group it waits for ncclGroupEnd.
struct HostTask {
  std::function<void()> post;
  std::function<ncclResult_t()> finish;
};
ncclResult_t run_host_task(HostTask task);
std::shared_ptr<HostMeeting> post_meeting(ncclComm* comm, const char* what, std::string details,
                                          void* argument);
void await_meeting(ncclComm* comm, HostMeeting& meeting);
// As above, for windows and device communicators. Programs could make them wherever they wait for
// each other: what is not set-up takes a call of NCCL's and a meeting, more than a barrier of MPI.
void await_priced_meeting(ncclComm* comm, HostMeeting& meeting);
int compute_lsa_size(const std::vector<ncclComm*>& members);
ncclComm* join_clique(Clique* clique, int rank, int device, ncclComm* comm);
Clique* new_clique(int size);
// Joins, or waits to join, the communicator that `id` names.
ncclResult_t init_rank(ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank, int device,
                       const ncclConfig_t* config, const char* what);
// The id of the next communicator that grows out of this one.
ncclUniqueId grow_id(const ncclComm& parent);
// Takes over what a configuration (which may be missing) says of the communicator.
void configure(ncclComm* comm, const ncclConfig_t* config);
// What a call on a communicator returns that is otherwise done: where it does not block, the
// program has to ask until it is.
ncclResult_t in_background(ncclComm* comm);
// A communicator is made of another one: in the background, where that one does not block.
void begin_in_background(ncclComm* parent, ncclComm* child, const ncclConfig_t* config);
bool is_blocking_config(const ncclConfig_t* config, bool parent = true);
void wait_until_joined(ncclComm* comm, const char* what);
// The running host has made a communicator with, or out of one with, so many ranks. It costs
// nothing before the host has begun to use the device: that is set-up.
void price_new_comm(int ranks);

const std::vector<ncclComm*>& all_comms();
const std::vector<ncclWindow_t>& all_windows();
ncclWindow_t make_window(ncclComm* comm, WindowSet* set, void* base, std::size_t bytes);
bool is_window(ncclWindow_t window);

std::string join_numbers(const std::vector<int>& numbers);

}  // namespace warploom::nccl
