// Device communicators: what was asked for becomes signals, counters, barriers and buffers.
#include "network/devcomm.h"

#include <algorithm>
#include <cstring>

#include "host/program_range.h"
#include "memory/memory.h"
#include "nccl/nccl_requirements.h"
#include "network/multimem.h"
#include "network/network.h"

namespace warploom::nccl {

namespace {

constexpr uint32_t kNoBarrier = ~0u;

// Where the program wants to have it.
template <class T>
void give(T* to, T value) {
  program_writes(to, sizeof *to);
  *to = value;
}

constexpr std::size_t kHandleUnit = 128;  // a buffer handle counts these

struct Declared {
  Team team;
  int count;
};
std::map<const uint32_t*, Declared> g_declared;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Hands out the resources of one rank, in an order that is the same on all ranks.
class Layout {
 public:
  Layout(DevCommSet& set, const DevCommRequest& request) : set_(set) {
    signals_ = request.signals;
    counters_ = request.counters;
    set.signal_ranges.push_back({0, static_cast<uint32_t>(request.signals)});
  }

  void add_listed(ResourceRequest* list) {
    for (auto* r = list; r; r = r->next) {
      program_reads(r, sizeof *r);
      bytes_ = round_up(bytes_, std::max(kHandleUnit, r->align));
      if (r->buffer) {
        give(r->buffer, static_cast<uint32_t>(bytes_ / kHandleUnit));
        define_declared(r->buffer, false);
      }
      if (r->signal_start) {
        give(r->signal_start, static_cast<uint32_t>(signals_));
        define_declared(r->signal_start, true);
        const auto first = static_cast<uint32_t>(signals_);
        const bool barrier = g_declared.contains(r->signal_start);
        if (!barrier)
          set_.signal_ranges.push_back({first, first + static_cast<uint32_t>(r->signals)});
      }
      if (r->counter_start) give(r->counter_start, static_cast<uint32_t>(counters_));
      bytes_ += r->bytes;
      signals_ += r->signals;
      counters_ += r->counters;
    }
  }

  BarrierInfo add_lsa(Team team, int count, const char* field) {
    if (count <= 0) return {kNoBarrier, 0};
    bytes_ = round_up(bytes_, kHandleUnit);
    const auto id = static_cast<uint32_t>(bytes_ / kHandleUnit);
    bytes_ += static_cast<std::size_t>(count) * static_cast<std::size_t>(3 + team.ranks) * 4;
    set_.definitions[{false, id}] = {team, count, field, "LSA barrier"};
    return {id, count};
  }

  BarrierInfo add_gin(Team team, int count, const char* field, const char* name) {
    if (count <= 0 || !set_.gin) return {kNoBarrier, 0};
    const auto id = static_cast<uint32_t>(signals_);
    signals_ += count * team.ranks;
    set_.definitions[{true, id}] = {team, count, field, name};
    return {id, count};
  }

  int signals() const { return signals_; }
  int counters() const { return counters_; }
  std::size_t bytes() const { return round_up(bytes_, kHandleUnit); }

 private:
  void define_declared(const uint32_t* slot, bool gin) {
    auto it = g_declared.find(slot);
    if (it == g_declared.end()) return;
    set_.definitions[{gin, *slot}] = {it->second.team, it->second.count, "nBarriers",
                                      gin ? "GIN barrier" : "LSA barrier"};
  }
  DevCommSet& set_;
  std::size_t bytes_ = kHandleUnit;  // handle 0 stays unused
  int signals_ = 0, counters_ = 0;
};

void lay_out_barriers(Layout& layout, const DevCommRequest& r, DevCommInfo& info) {
  const Team lsa{info.lsa_size, info.lsa_rank, 1};
  const Team rail{info.ranks / info.lsa_size, info.rank / info.lsa_size, info.lsa_size};
  const Team world{info.ranks, info.rank, 1};
  if (g_config.nccl_version < 23000) {
    // One set of barriers serves the hybrid sessions and the plain ones.
    info.lsa = info.hybrid_lsa =
        layout.add_lsa(lsa, std::max(r.barriers, r.lsa_barriers), "lsaBarrierCount");
    info.rail = info.hybrid_rail = layout.add_gin(rail, std::max(r.barriers, r.rail_barriers),
                                                  "railGinBarrierCount", "rail GIN barrier");
    info.world = {kNoBarrier, 0};
  } else {
    info.lsa = layout.add_lsa(lsa, r.lsa_barriers, "lsaBarrierCount");
    info.rail = layout.add_gin(rail, r.rail_barriers, "railGinBarrierCount", "rail GIN barrier");
    info.world =
        layout.add_gin(world, r.world_barriers, "worldGinBarrierCount", "world GIN barrier");
    info.hybrid_lsa = layout.add_lsa(lsa, r.barriers, "barrierCount");
    info.hybrid_rail = layout.add_gin(rail, r.barriers, "barrierCount", "rail GIN barrier");
  }
  const int hybrid =
      g_config.nccl_version < 23000 ? std::min(info.lsa.count, info.rail.count) : r.barriers;
  info.hybrid_world = layout.add_gin(world, hybrid, "barrierCount", "hybrid barrier");
}

// What one rank brings to the meeting; the first to arrive brings the shared object, too.
struct Creation {
  DevComm* dc;
  DevCommSet* set;
  WindowSet* windows;
};

void pair_up(ncclComm* comm, const HostMeeting& meeting) {
  auto* set = static_cast<Creation*>(meeting.argument[0])->set;
  auto* windows = static_cast<Creation*>(meeting.argument[0])->windows;
  windows->clique = comm->clique;
  for (void* argument : meeting.argument) {
    auto* creation = static_cast<Creation*>(argument);
    creation->dc->set = set;
    set->members.push_back(creation->dc);
    creation->dc->resources->set = windows;
    windows->members.push_back(creation->dc->resources);
  }
}

}  // namespace

void declare_barrier(uint32_t* slot, Team team, int count, bool) {
  g_declared[slot] = {team, count};
}

void describe_comm(ncclComm_t comm, int* ranks, int* rank, int* lsa_size) {
  ncclComm* c = usable(comm, "ncclTeam");
  if (!c) return;
  for (const int* out : {ranks, rank, lsa_size}) program_writes(out, sizeof *out);
  *ranks = c->clique->size;
  *rank = c->rank;
  *lsa_size = c->clique->lsa_size;
}

ncclResult_t query_properties(ncclComm_t comm, Properties* properties) {
  ncclComm* c = usable(comm, "ncclCommQueryProperties");
  if (!c) return ncclInvalidArgument;
  program_writes(properties, sizeof *properties);
  if (!properties->initialized) {
    report_finding(
        {.kind = kinds::requirements_initializer,
         .message = "ncclCommQueryProperties: the argument was not initialized with "
                    "NCCL_COMM_PROPERTIES_INITIALIZER",
         .hint = "write: ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;"});
    return set_error(c, ncclInvalidUsage, "properties are not initialized");
  }
  properties->rank = c->rank;
  properties->ranks = c->clique->size;
  properties->device = number_of_device(c->device);
  properties->lsa_teams = c->clique->size / c->clique->lsa_size;
  properties->hash = c->clique->id;
  properties->multimem = multimem_supported(*c->clique);
  properties->one_sided = c->rma_contexts > 0;
  return ncclSuccess;
}

namespace {

DevCommSet* make_set(const Clique& clique, const DevCommRequest& request, Connection connection) {
  auto* set = new DevCommSet;
  set->clique = const_cast<Clique*>(&clique);
  set->gin = connection != Connection::None;
  set->connection = connection;
  set->stride = request.stride;
  set->strong_signals = request.strong_signals;
  set->va_signals = request.va_signals;
  set->strong_legacy = request.strong_signals;
  set->contexts = set->gin ? contexts_of(request) : 0;
  return set;
}

// Memory of the resources: buffers, then one shadow for each signal. It starts as zero.
bool allocate_resources(DevComm& dc, const Layout& layout) {
  const std::size_t shadows = static_cast<std::size_t>(dc.set->contexts) *
                              static_cast<std::size_t>(dc.set->signals) * sizeof(uint64_t);
  const std::size_t bytes = layout.bytes() + shadows;
  void* memory = allocate_device(dc.comm->device, bytes, AllocKind::NcclMemAlloc, dc.created);
  if (!memory) return false;
  std::memset(memory, 0, bytes);
  dc.resources = make_window(dc.comm, nullptr, memory, bytes);
  dc.resources->internal = true;
  dc.shadows = reinterpret_cast<uint64_t*>(static_cast<char*>(memory) + layout.bytes());
  return true;
}

ncclResult_t add_multimem(const DevComm& dc, const DevCommRequest& request, DevCommInfo& info) {
  Clique& clique = *dc.set->clique;
  bool made = true;
  if (request.lsa_multimem) {
    info.lsa_multimem = lsa_multimem_base(clique, dc.rank);
    made &= info.lsa_multimem != nullptr;
  }
  for (TeamRequest* t = request.teams; t; t = t->next) {
    program_reads(t, sizeof *t);
    void* base = multimem_base(clique, dc.rank - t->team.rank * t->team.stride, t->team.ranks,
                               t->team.stride);
    if (t->base) give(t->base, base);
    made &= base != nullptr;
  }
  return made ? ncclSuccess : set_error(dc.comm, ncclSystemError, "too many multimem teams");
}

void describe(const DevComm& dc, DevCommInfo& info) {
  const DevCommSet& set = *dc.set;
  info.state = const_cast<DevComm*>(&dc);
  info.contexts = set.contexts;
  info.signals = set.signals;
  info.counters = set.counters;
  info.strong_legacy = set.strong_legacy;
  info.railed = set.connection == Connection::Rail;
  info.context_stride = set.connection == Connection::Rail     ? set.clique->lsa_size
                        : set.connection == Connection::Stride ? set.stride
                                                               : 1;
  info.resources = dc.resources;
  info.shadows = dc.shadows;
}

}  // namespace

ncclResult_t create_devcomm(ncclComm_t comm, const DevCommRequest& request, DevCommInfo* info) {
  ncclComm* c = usable(comm, "ncclDevCommCreate");
  if (!c) return ncclInvalidArgument;
  program_reads(&request, sizeof request);
  program_writes(info, sizeof *info);
  const Clique& clique = *c->clique;
  const Connection connection = connection_of(request, clique.size / clique.lsa_size);
  const ncclResult_t valid = check_request(c, request, connection);
  if (valid != ncclSuccess) return valid;

  info->rank = c->rank;
  info->ranks = clique.size;
  info->lsa_size = clique.lsa_size;
  info->lsa_rank = c->rank % clique.lsa_size;
  auto* dc = new DevComm;
  dc->comm = c;
  dc->rank = c->rank;
  dc->created = capture_frames();
  dc->set = make_set(clique, request, connection);
  Layout layout(*dc->set, request);
  layout.add_listed(request.resources);
  lay_out_barriers(layout, request, *info);
  dc->set->signals = layout.signals();
  dc->set->counters = layout.counters();
  dc->signals.resize(static_cast<std::size_t>(dc->set->contexts));
  dc->counters.resize(static_cast<std::size_t>(dc->set->contexts));
  dc->lines.resize(2 * static_cast<std::size_t>(dc->set->contexts));
  if (!allocate_resources(*dc, layout)) return ncclUnhandledCudaError;
  if (const ncclResult_t made = add_multimem(*dc, request, *info); made != ncclSuccess) return made;
  add_devcomm(dc);
  describe(*dc, *info);

  const auto creation = std::make_shared<Creation>(Creation{dc, dc->set, new WindowSet});
  const auto meeting = std::make_shared<std::shared_ptr<HostMeeting>>();
  return run_host_task(
      {[c, creation, meeting, details = describe(request)] {
         *meeting = post_meeting(c, "ncclDevCommCreate", details, creation.get());
         if ((*meeting)->arrived == c->clique->size) pair_up(c, **meeting);
       },
       [c, creation, meeting]() -> ncclResult_t {  // the partners read what was brought
         await_priced_meeting(c, **meeting);
         return ncclSuccess;
       }});
}

ncclResult_t destroy_devcomm(ncclComm_t comm, void* state) {
  ncclComm* c = usable(comm, "ncclDevCommDestroy");
  if (!c || !is_devcomm(state)) return ncclInvalidArgument;
  auto* dc = static_cast<DevComm*>(state);
  if (!dc->live) {
    report_finding({.kind = kinds::use_after_destroy,
                    .message = "a device communicator is destroyed twice",
                    .hint = "destroy each device communicator once",
                    .other = dc->destroyed});
    return ncclInvalidArgument;
  }
  trace([] { return std::string("ncclDevCommDestroy"); });
  check_flushed(*dc);
  dc->live = false;
  dc->destroyed = capture_frames();
  deliver_from(*dc);
  Allocation* memory = find_allocation(dc->resources->base);
  memory->windows--;
  dc->resources->live = false;
  dc->resources->deregistered = dc->destroyed;
  release(memory, dc->destroyed);
  return ncclSuccess;
}

ncclWindow_t find_window(void* state, const void* pointer) {
  const DevComm& dc = alive(state, "ncclFindWindow");
  for (ncclWindow_t window : all_windows()) {
    const auto offset = static_cast<const char*>(pointer) - window->base;
    if (window->comm == dc.comm && window->live && offset >= 0 &&
        offset < static_cast<std::ptrdiff_t>(window->bytes)) {
      return window;
    }
  }
  return nullptr;
}

}  // namespace warploom::nccl
