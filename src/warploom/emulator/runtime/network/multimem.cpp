// Multimem: one address, the memory of every member of a team.
#include "network/multimem.h"

#include <cstring>

#include "../../include/warploom/float_bits.h"
#include "../../include/warploom/multimem.h"
#include "base/polling.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/spoil.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "network/devcomm.h"
#include "network/network.h"
#include "order/race.h"

namespace warploom::nccl {

namespace {

constexpr std::size_t kWindowUnit = 2 << 20;  // windows begin at multiples, with a gap behind each

struct Multicast {
  Clique* clique;
  int first, ranks, stride;
};
std::vector<Multicast> g_multicasts;

const Multicast* team_at(const void* base) {
  const std::size_t number =
      (reinterpret_cast<uintptr_t>(base) - g_places.multimem) / kMultimemTeam;
  return in_multimem(base) && number < g_multicasts.size() ? &g_multicasts[number] : nullptr;
}

bool is_member(const Multicast& team, int rank) {
  const int distance = rank - team.first;
  return distance >= 0 && distance % team.stride == 0 && distance / team.stride < team.ranks;
}

}  // namespace

void* multimem_base(Clique& clique, int first, int ranks, int stride) {
  std::size_t i = 0;
  while (i < g_multicasts.size() &&
         (g_multicasts[i].clique != &clique || g_multicasts[i].first != first ||
          g_multicasts[i].ranks != ranks || g_multicasts[i].stride != stride)) {
    i++;
  }
  if (i == g_places.multimem_teams) return nullptr;
  if (i == g_multicasts.size()) g_multicasts.push_back({&clique, first, ranks, stride});
  return reinterpret_cast<void*>(g_places.multimem + i * kMultimemTeam);
}

void* lsa_multimem_base(Clique& clique, int rank) {
  return multimem_base(clique, rank / clique.lsa_size * clique.lsa_size, clique.lsa_size, 1);
}

void* multimem_address(WindowSet& set, const void* base, std::size_t offset) {
  if (set.multimem_offset == 0) {
    Clique& clique = *set.clique;
    const std::size_t bytes = set.members.front()->bytes;
    clique.multimem_top += kWindowUnit;
    set.multimem_offset = clique.multimem_top;
    clique.multimem[set.multimem_offset] = &set;
    clique.multimem_top += (bytes + kWindowUnit - 1) / kWindowUnit * kWindowUnit;
  }
  return static_cast<char*>(const_cast<void*>(base)) + set.multimem_offset + offset;
}

void* multimem_pointer(ncclWindow_t window, std::size_t offset, const void* base,
                       const char* what) {
  check_window(window, what);
  const Multicast* team = team_at(base);
  if (!team) {
    fail({.kind = kinds::multimem_not_enabled,
          .message = base
                         ? format("%s: the handle is not one that ncclDevCommCreate gave", what)
                         : format("%s: the device communicator was created without multimem", what),
          .hint = "set lsaMultimem = true in the requirements, or ask for the team's handle with "
                  "teamRequirementsList"});
  }
  if (team->clique != window->set->clique || !is_member(*team, window->rank)) {
    fail({.kind = kinds::multimem_address,
          .message =
              format("%s: rank %d is not in the team that the handle is for", what, window->rank),
          .hint = "use the handle of a team of the window's communicator that has this rank"});
  }
  if (offset > window->bytes) {
    report_finding({.kind = kinds::window_range,
                    .message = format("%s: offset %zu is outside of a window of %zu bytes", what,
                                      offset, window->bytes),
                    .hint = "an offset counts bytes from the start of the window"});
  }
  return multimem_address(*window->set, base, offset);
}

ncclResult_t host_multimem_pointer(ncclWindow_t window, std::size_t offset, bool lsa, void* base,
                                   void** out) {
  if (!out || !is_window(window) || !window->live) return ncclInvalidArgument;
  if (!lsa && !base) return ncclInvalidArgument;
  Clique& clique = *window->set->clique;
  program_writes(out, sizeof *out);
  *out = nullptr;  // said so where multimem is not supported
  if (!multimem_supported(clique)) return ncclSuccess;
  if (lsa) base = lsa_multimem_base(clique, window->rank);
  *out = base ? multimem_address(*window->set, base, offset) : nullptr;
  return *out ? ncclSuccess : ncclSystemError;
}

void check_multimem_barrier(const DevComm& dc, const void* base, const char* what) {
  if (team_at(base)) return;
  fail({.kind = kinds::multimem_not_enabled,
        .message = format("%s: multimem is asked for, but the device communicator was created "
                          "without it",
                          what),
        .hint = "set lsaMultimem = true in the requirements",
        .other = dc.created});
}

void refuse_plain_access(const void* p, bool write) {
  fail({.kind = kinds::multimem_address,
        .message = format("an ordinary %s of the multimem address %p", write ? "store" : "load", p),
        .hint = "multimem addresses are for multimem.ld_reduce, multimem.st and multimem.red only; "
                "use ncclGetLocalPointer or ncclGetLsaPointer for the memory of one rank"});
}

namespace {

// The members' memory behind an address; ends the run if there is none for all `bytes`.
std::vector<char*> places(const void* address, unsigned bytes, const char* what) {
  const Multicast* team = team_at(address);
  if (!team) {
    fail({.kind = kinds::multimem_address,
          .message = format("%s of %p, which is no multimem address", what, address),
          .hint = "get the address from ncclGetLsaMultimemPointer or ncclGetMultimemPointer"});
  }
  const std::size_t offset =
      (reinterpret_cast<uintptr_t>(address) - g_places.multimem) % kMultimemTeam;
  if (offset % bytes) {
    report_finding(
        {.kind = kinds::multimem_address,
         .message = format("%s of %u bytes at an address that is no multiple of that", what, bytes),
         .hint = "align the address to the size of the whole vector"});
  }
  const auto& windows = team->clique->multimem;
  auto after = windows.upper_bound(offset);
  WindowSet* set = after == windows.begin() ? nullptr : std::prev(after)->second;
  const std::size_t size = set ? set->members.front()->bytes : 0;
  if (!set || offset - set->multimem_offset + bytes > size) {
    fail({.kind = kinds::out_of_bounds,
          .message = format("%s of %u bytes outside of a window of %zu bytes", what, bytes, size),
          .hint = "compare the index with the size that was registered"});
  }
  std::vector<char*> out;
  for (int i = 0; i < team->ranks; i++) {
    const int rank = team->first + i * team->stride;
    check_window(set->members[static_cast<std::size_t>(rank)], what);
    out.push_back(member_pointer(set->members[static_cast<std::size_t>(rank)], rank,
                                 offset - set->multimem_offset));
  }
  return out;
}

// Enters the access of every member's memory.
void enter(const multimem::Access& access, const std::vector<char*>& members, unsigned bytes,
           bool reads, bool writes) {
  if (!access.weak) {
    for (char* p : members) {
      atomic_access(p, bytes, reads, writes, access.order, access.scope);
    }
    return;
  }
  if (GpuThread* thread = current_thread()) thread->touched_memory = true;
  if (writes) note_progress();
  const uint32_t pc = capture_frames().pc[0];
  for (char* p : members) {
    g_stats.accesses++;
    if (!check_access(p, bytes, writes)) continue;
    if (g_carrying) note_carried(p, bytes, reads, false);
    if (!g_config.race) continue;
    const Actor actor = current_actor(pc);
    writes ? access_write(actor, p, bytes) : access_read(actor, p, bytes);
  }
}

template <class T>
T combine(multimem::Change change, T a, T b) {
  using multimem::Change;
  switch (change) {
    case Change::Add:
      return static_cast<T>(a + b);
    case Change::Min:
      return b < a ? b : a;
    case Change::Max:
      return a < b ? b : a;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    return change == Change::And ? a & b : change == Change::Or ? a | b : a ^ b;
  }
  return a;
}

// `into` becomes the combination of itself and `from`, element by element.
template <class T>
void combine_all(multimem::Change change, void* into, const void* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, static_cast<char*>(into) + i, sizeof(T));
    std::memcpy(&b, static_cast<const char*>(from) + i, sizeof(T));
    a = combine(change, a, b);
    std::memcpy(static_cast<char*>(into) + i, &a, sizeof(T));
  }
}

float to_float(multimem::Element element, uint16_t value) {
  return element == multimem::Element::F16 ? float_from_half(value) : float_from_bfloat16(value);
}
uint16_t from_float(multimem::Element element, float value) {
  return element == multimem::Element::F16 ? half_from_float(value) : bfloat16_from_float(value);
}

void combine_short(const multimem::Access& access, void* into, const void* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 2) {
    uint16_t a, b;
    std::memcpy(&a, static_cast<char*>(into) + i, 2);
    std::memcpy(&b, static_cast<const char*>(from) + i, 2);
    a = from_float(access.element, combine(access.change, to_float(access.element, a),
                                           to_float(access.element, b)));
    std::memcpy(static_cast<char*>(into) + i, &a, 2);
  }
}

void combine_vector(const multimem::Access& access, void* into, const void* from, unsigned bytes) {
  using multimem::Element;
  switch (access.element) {
    case Element::U32:
      return combine_all<uint32_t>(access.change, into, from, bytes);
    case Element::S32:
      return combine_all<int32_t>(access.change, into, from, bytes);
    case Element::U64:
      return combine_all<uint64_t>(access.change, into, from, bytes);
    case Element::S64:
      return combine_all<int64_t>(access.change, into, from, bytes);
    case Element::F32:
      return combine_all<float>(access.change, into, from, bytes);
    case Element::F64:
      return combine_all<double>(access.change, into, from, bytes);
    default:
      return combine_short(access, into, from, bytes);
  }
}

// 16-bit floats that are added up in 32 bits and rounded once.
void sum_wide(const multimem::Access& access, const std::vector<char*>& members, unsigned bytes,
              void* out) {
  for (unsigned i = 0; i < bytes; i += 2) {
    float sum = 0;
    for (const char* p : members) {
      uint16_t value;
      std::memcpy(&value, p + i, 2);
      sum += to_float(access.element, value);
    }
    const uint16_t rounded = from_float(access.element, sum);
    std::memcpy(static_cast<char*>(out) + i, &rounded, 2);
  }
}

}  // namespace

}  // namespace warploom::nccl

namespace warploom::multimem {

using namespace warploom::nccl;

namespace {

using Copies = std::vector<std::vector<char>>;

int device_here() {
  const GpuThread* thread = current_thread();
  return thread ? thread->block->kernel->device : -1;
}

// The members' values as they arrive here: `kept` holds those of other devices.
std::vector<char*> as_received(std::vector<char*> members, unsigned bytes, Copies& kept) {
  for (char*& p : members) {
    const int owner = device_of(p);
    if (owner == device_here()) continue;
    kept.emplace_back(p, p + bytes);
    spoil(kept.back().data(), bytes, owner);
    p = kept.back().data();
  }
  return members;
}

// What the running thread sends, as it arrives at `to`.
std::vector<char> as_sent(const void* in, unsigned bytes, const char* to) {
  const char* start = static_cast<const char*>(in);
  std::vector<char> data(start, start + bytes);
  if (g_spoiling && device_of(to) != device_here()) spoil(data.data(), bytes, device_here());
  return data;
}

}  // namespace

void load_reduce(const Access& access, const void* address, unsigned bytes, void* out) {
  std::vector<char*> members = places(address, bytes, "multimem.ld_reduce");
  program_writes(out, bytes);
  const SpoilByHand by_hand;
  enter(access, members, bytes, true, false);
  Copies altered;
  if (g_spoiling) members = as_received(members, bytes, altered);
  if (access.wide && access.change == Change::Add) return sum_wide(access, members, bytes, out);
  std::memcpy(out, members.front(), bytes);
  for (std::size_t i = 1; i < members.size(); i++) {
    combine_vector(access, out, members[i], bytes);
  }
}

void store(const Access& access, void* address, unsigned bytes, const void* in) {
  const std::vector<char*> members = places(address, bytes, "multimem.st");
  program_reads(in, bytes);
  const SpoilByHand by_hand;
  enter(access, members, bytes, false, true);
  for (char* p : members) std::memcpy(p, as_sent(in, bytes, p).data(), bytes);
  atomic_changed();
}

void reduce(const Access& access, void* address, unsigned bytes, const void* in) {
  const std::vector<char*> members = places(address, bytes, "multimem.red");
  program_reads(in, bytes);
  const SpoilByHand by_hand;
  enter(access, members, bytes, true, true);
  for (char* p : members) combine_vector(access, p, as_sent(in, bytes, p).data(), bytes);
  atomic_changed();
}

}  // namespace warploom::multimem
