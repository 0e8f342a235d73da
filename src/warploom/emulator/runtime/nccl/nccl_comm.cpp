// Communicators: creation, destruction, queries.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "nccl/nccl_group.h"
#include "nccl/nccl_objects.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

namespace {

std::vector<ncclComm*> g_comms;
std::map<std::string, Clique*> g_cliques;  // by unique id
uint64_t g_clique_ids = 0;

// The part of ncclConfig_t that is the same in all versions.
struct ConfigHead {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};

std::string key_of(const ncclUniqueId& id) { return std::string(id.internal, sizeof id.internal); }

bool device_taken(const Clique& clique, int device) {
  return std::any_of(clique.members.begin(), clique.members.end(),
                     [&](const ncclComm* member) { return member && member->device == device; });
}

void report_duplicate(const char* what, int rank, int device) {
  report_finding({.kind = kinds::duplicate_device,
                  .message = format("%s: rank %d uses device %d, which another rank of the "
                                    "communicator uses already",
                                    what, rank, number_of_device(device)),
                  .hint = "give each rank a device of its own: cudaSetDevice before the "
                          "communicator is made, or the list of ncclCommInitAll; a program for "
                          "several machines is run with --node-size"});
}

// The calls that may be made while another one goes on in the background.
constexpr std::string_view kAtAnyTime[] = {"ncclCommGetAsyncError", "ncclCommAbort",
                                           "ncclCommRevoke"};

// NCCL refuses other calls then: "Attempt to use communicator before the previous operation
// returned ncclSuccess".
void require_at_rest(ncclComm& comm, const char* what) {
  if (!comm.in_progress || std::ranges::find(kAtAnyTime, what) != std::end(kAtAnyTime)) return;
  report_in_progress(format("%s is called while another call on the communicator may go on in the "
                            "background",
                            what),
                     *comm.in_progress);
}

}  // namespace

// Is the program told that the call goes on still? Many times, so that who goes on regardless is
// seen doing so; once, where it has been told so too often in all.
static bool is_late(ncclComm& comm) {
  if (!comm.in_progress || g_timed || g_config.timing == NetTiming::Eager) return false;
  constexpr int kMost = 16384;
  static int left_in_all = 1 << 18;
  const int most = random_schedule() ? static_cast<int>(random_below(kMost)) : kMost;
  return comm.looks++ < (left_in_all-- > 0 ? most : 1);
}

ncclResult_t in_background(ncclComm* comm) {
  if (comm->blocking) return ncclSuccess;
  if (!comm->in_progress) comm->in_progress = capture_frames();
  comm->looks = 0;
  return ncclInProgress;
}

void begin_in_background(ncclComm* parent, ncclComm* child, const ncclConfig_t* config) {
  child->blocking = is_blocking_config(config, parent->blocking);
  if (parent->blocking) return;
  child->in_progress = capture_frames();
  parent->children.push_back(child);
}

// The program knows that what the communicator did in the background is done.
static void over(ncclComm& comm) {
  comm.in_progress.reset();
  note_issued(&comm);
  for (ncclComm* child : comm.children) child->in_progress.reset();
  comm.children.clear();
  for (const ncclWindow_t window : comm.registering) {
    window->too_early = static_cast<uint32_t>(g_stats.kernels);
  }
  comm.registering.clear();
}

std::string Clique::missing(const std::vector<bool>& present) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; rank++) {
    if (!present[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
  }
  return join_numbers(ranks);
}

std::string join_numbers(const std::vector<int>& numbers) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < numbers.size() && i < kShown; i++) {
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  }
  if (numbers.size() > kShown) text += format(" and %zu more", numbers.size() - kShown);
  return text;
}

void fail(FindingInfo info) {
  report_finding(std::move(info));
  stop_run();
}

ncclResult_t set_error(ncclComm* comm, ncclResult_t result, std::string why) {
  if (comm) comm->last_error = std::move(why);
  return result;
}

ncclComm* usable(ncclComm_t comm, const char* what) {
  if (!comm) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = format("%s is called with NULL in place of a communicator", what),
                    .hint = "no communicator was made: call the initialization first, and check "
                            "what it returned"});
    return nullptr;
  }
  if (std::find(g_comms.begin(), g_comms.end(), comm) == g_comms.end()) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = format("%s is called with a communicator that does not exist", what),
                    .hint = "initialize the communicator first, and check what that returned"});
    return nullptr;
  }
  if (comm->process != &current_process()) {
    fail({.kind = kinds::foreign_memory,
          .message = format("%s is called with a communicator of another process", what),
          .hint = "a handle means nothing in other processes: make one in each"});
  }
  if (comm->destroyed) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = format("%s is called with a communicator that was destroyed", what),
                    .hint = "destroy a communicator after its last use",
                    .other = comm->ended});
    return nullptr;
  }
  require_at_rest(*comm, what);
  return comm;
}

const std::vector<ncclComm*>& all_comms() { return g_comms; }

Clique* new_clique(int size) {
  auto* clique = new Clique;
  clique->id = ++g_clique_ids;
  clique->size = size;
  clique->members.resize(static_cast<std::size_t>(size));
  clique->registrations.resize(static_cast<std::size_t>(size));
  clique->where = capture_frames();
  return clique;
}

// Runs of neighboring ranks that share memory, cut so that all teams have the same size.
int compute_lsa_size(const std::vector<ncclComm*>& members) {
  int size = 0, run = 1;
  for (std::size_t i = 1; i < members.size(); i++) {
    if (lsa_team_of(members[i]->device) == lsa_team_of(members[i - 1]->device)) {
      run++;
    } else {
      size = std::gcd(size, run);
      run = 1;
    }
  }
  return std::gcd(size, run);
}

ncclComm* join_clique(Clique* clique, int rank, int device, ncclComm* comm) {
  comm->clique = clique;
  comm->rank = rank;
  comm->device = device;
  comm->process = &current_process();
  comm->created = capture_frames();
  g_comms.push_back(comm);
  clique->members[static_cast<std::size_t>(rank)] = comm;
  clique->clock.join(release_clock());
  if (++clique->joined == clique->size) {
    clique->lsa_size = compute_lsa_size(clique->members);
    for (ncclComm* member : clique->members) member->ready = true;
    clique->waiting.notify_all();
  }
  return comm;
}

void wait_until_joined(ncclComm* comm, const char* what) {
  Clique* clique = comm->clique;
  clique->waiting.wait_until([clique] { return clique->joined == clique->size; },
                             {what, [clique] {
                                std::vector<bool> present;
                                for (const ncclComm* member : clique->members)
                                  present.push_back(member != nullptr);
                                return format("for rank %s of %d", clique->missing(present).c_str(),
                                              clique->size);
                              }});
  acquire_clock(clique->clock);
}

bool config_valid(const ncclConfig_t* config) {
  const auto* head = reinterpret_cast<const ConfigHead*>(config);
  if (!head || head->magic == 0xcafebeef) return true;
  report_finding({.kind = kinds::requirements_initializer,
                  .message = "an ncclConfig_t was not initialized with NCCL_CONFIG_INITIALIZER",
                  .hint = "write: ncclConfig_t config = NCCL_CONFIG_INITIALIZER;"});
  return false;
}

void configure(ncclComm* comm, const ncclConfig_t* config) {
  if (!config) return;
  const auto has = [&](const int& field) {
    const auto end = reinterpret_cast<const char*>(&field + 1);
    return end <= reinterpret_cast<const char*>(config) + config->size &&
           field != NCCL_CONFIG_UNDEF_INT;
  };
  if (has(config->numRmaCtx)) comm->rma_contexts = config->numRmaCtx;
  if (has(config->numRmaSig)) comm->rma_signals = config->numRmaSig;
}

void price_new_comm(int ranks) {
  if (!g_timed || !current_host().working) return;
  // At least: all say who they are, and how they are connected.
  host_call(g_machine.host_nccl_ns + 2 * mpi_meeting_ns(ranks, 0));
}

bool is_blocking_config(const ncclConfig_t* config, bool parent) {
  const auto* head = reinterpret_cast<const ConfigHead*>(config);
  return !head || head->blocking == NCCL_CONFIG_UNDEF_INT ? parent : head->blocking != 0;
}

ncclResult_t init_rank(ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank, int device,
                       const ncclConfig_t* config, const char* what) {
  const std::string key = key_of(id);
  if (!out) return ncclInvalidArgument;
  *out = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  Clique*& slot = g_cliques[key];
  if (slot && slot->joined == slot->size) slot = nullptr;  // the id was used before
  if (!slot) slot = new_clique(ranks);
  Clique* clique = slot;
  if (clique->size != ranks) {
    fail({.kind = kinds::collective_mismatch,
          .message = format("%s: rank %d says that there are %d ranks, another one said %d", what,
                            rank, ranks, clique->size),
          .hint = "pass the same number of ranks everywhere",
          .other = clique->where});
  }
  if (clique->members[static_cast<std::size_t>(rank)]) {
    fail({.kind = kinds::collective_mismatch,
          .message = format("%s: rank %d joins a communicator twice", what, rank),
          .hint = "each rank of a communicator is created once",
          .other = clique->members[static_cast<std::size_t>(rank)]->created});
  }
  if (device_taken(*clique, device)) {
    report_duplicate(what, rank, device);
    stop_run();
  }
  auto* comm = new ncclComm;
  configure(comm, config);
  comm->blocking = is_blocking_config(config);
  *out = comm;
  const auto post = [=] { join_clique(clique, rank, device, comm); };
  if (!comm->blocking && !in_group()) {
    post();
    price_new_comm(ranks);
    return in_background(comm);
  }
  return run_host_task({post, [=]() -> ncclResult_t {
                          wait_until_joined(comm, what);
                          price_new_comm(ranks);
                          return in_background(comm);
                        }});
}

namespace {

// Waits until everything that was issued on the communicator has ended.
void drain(ncclComm* comm, const char* what) {
  comm->idle.wait_until(
      [comm] { return comm->pending == 0; },
      {what, [comm] { return format("%d operations are not complete", comm->pending); }});
}

}  // namespace

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = g_config.nccl_version;
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  return init_rank(comm, nranks, id, rank, current_host().device, nullptr, "ncclCommInitRank");
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (!config_valid(config)) return ncclInvalidArgument;
  return init_rank(comm, nranks, id, rank, current_host().device, config, "ncclCommInitRankConfig");
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int nranks, int rank, int nid,
                                      ncclUniqueId* ids, ncclConfig_t* config) {
  if (!config_valid(config) || nid < 1 || !ids) return ncclInvalidArgument;
  return init_rank(comm, nranks, ids[0], rank, current_host().device, config,
                   "ncclCommInitRankScalable");
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  if (!comms || count < 1) return ncclInvalidArgument;
  Clique* clique = new_clique(count);
  for (int i = 0; i < count; i++) {
    int device = devices ? devices[i] : i;
    if (!find_device(device)) return ncclInvalidArgument;
    if (device_taken(*clique, device)) {
      report_duplicate("ncclCommInitAll", i, device);
      return ncclInvalidUsage;
    }
    comms[i] = join_clique(clique, i, device, new ncclComm);
  }
  price_new_comm(count);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  ncclComm* c = usable(comm, "ncclCommFinalize");
  if (!c) return ncclInvalidArgument;
  if (c->finalized) return set_error(c, ncclInvalidUsage, "the communicator is finalized already");
  c->finalized = capture_frames();
  drain(c, "ncclCommFinalize");
  return in_background(c);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  ncclComm* c = usable(comm, "ncclCommDestroy");
  if (!c) return ncclInvalidArgument;
  drain(c, "ncclCommDestroy");
  c->destroyed = true;
  c->ended = capture_frames();
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  ncclComm* c = usable(comm, "ncclCommAbort");
  if (!c) return ncclInvalidArgument;
  c->destroyed = true;
  c->ended = capture_frames();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  ncclComm* c = usable(comm, "ncclCommGetAsyncError");
  if (!c || !error) return ncclInvalidArgument;
  if (!c->ready) poll_current();
  const bool late = is_late(*c);
  *error = c->ready && !late ? ncclSuccess : ncclInProgress;
  if (*error == ncclSuccess) {
    acquire_clock(c->clique->clock);
    over(*c);
  }
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  ncclComm* c = usable(comm, "ncclCommCount");
  if (!c || !count) return ncclInvalidArgument;
  *count = c->clique->size;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  ncclComm* c = usable(comm, "ncclCommCuDevice");
  if (!c || !device) return ncclInvalidArgument;
  *device = number_of_device(c->device);
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  ncclComm* c = usable(comm, "ncclCommUserRank");
  if (!c || !rank) return ncclInvalidArgument;
  *rank = c->rank;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (static_cast<int>(result)) {
    case 0:
      return "no error";
    case 1:
      return "unhandled CUDA error";
    case 2:
      return "unhandled system error";
    case 3:
      return "internal error";
    case 4:
      return "invalid argument";
    case 5:
      return "invalid usage";
    case 6:
      return "remote process exited or there was a network error";
    case 7:
      return "NCCL operation in progress";
    case 8:
      return "timeout";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm && std::find(g_comms.begin(), g_comms.end(), comm) != g_comms.end()
             ? comm->last_error.c_str()
             : "";
}

}  // extern "C"
