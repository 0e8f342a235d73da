// Memory for NCCL: allocation, registration, windows and the pointers that they give.
#include <algorithm>
#include <new>

#include "cuda/stream.h"
#include "host/handles.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "metering/meter.h"
#include "nccl/nccl_objects.h"
#include "network/devcomm.h"
#include "network/network.h"

namespace warploom::nccl {

namespace {

std::vector<ncclWindow_t> g_windows;
// Of ncclCommRegister: whose memory it is, nullptr where it is not the arena's.
struct Registered {
  const Allocation* allocation;
};
HandleTable<Registered, void*> g_registrations("a registered buffer");

// All windows lie in a few chunks, so that a pointer which is none shows without a look at it.
constexpr std::size_t kInChunk = 1024;
struct WindowChunk {
  ncclWindow_t first;
  std::size_t made;
};
std::vector<WindowChunk> g_window_chunks;

ncclWindow_t take_window() {
  if (g_window_chunks.empty() || g_window_chunks.back().made == kInChunk) {
    void* memory = ::operator new(kInChunk * sizeof(ncclWindow_vidmem));
    g_window_chunks.push_back({static_cast<ncclWindow_t>(memory), 0});
  }
  WindowChunk& chunk = g_window_chunks.back();
  return new (chunk.first + chunk.made++) ncclWindow_vidmem;
}

// Where a buffer came from; the same on all ranks if they register the same things.
std::string origin(const void* buffer, const Frames& call) {
  const Allocation* allocation = find_allocation(buffer);
  std::string text(reinterpret_cast<const char*>(call.pc), sizeof call.pc);
  if (!allocation) return text;
  text.append(reinterpret_cast<const char*>(allocation->allocated.pc), sizeof call.pc);
  const auto offset = reinterpret_cast<uintptr_t>(buffer) - allocation->start;
  return text + std::to_string(offset);
}

bool same(const Registration& one, const Registration& other) {
  return one.bytes == other.bytes && one.origin == other.origin;
}

// Whether the ranks took buffers in opposite order, for the handles that they gave in one order:
// that is how a program pairs buffers of different places on purpose.
bool chosen(const Registration& first, const Registration& second, const Registration& their_first,
            const Registration& their_second) {
  return first.handle != second.handle &&
         second.handle - first.handle == their_second.handle - their_first.handle;
}

// Two registrations that two ranks made in opposite order.
void check_order(ncclComm* comm, const Frames& where) {
  const auto& all = comm->clique->registrations;
  const auto& mine = all[static_cast<std::size_t>(comm->rank)];
  const std::size_t last = mine.size() - 1;
  for (std::size_t rank = 0; rank < all.size(); rank++) {
    const auto& theirs = all[rank];
    if (static_cast<int>(rank) == comm->rank || theirs.size() <= last) continue;
    for (std::size_t i = 0; i < last; i++) {
      if (!same(mine[last], mine[i]) && same(mine[last], theirs[i]) &&
          same(mine[i], theirs[last]) && !chosen(mine[i], mine[last], theirs[i], theirs[last])) {
        fail({.kind = kinds::window_order_mismatch,
              .message = format("rank %d registers as window %zu what rank %zu registered as "
                                "window %zu, and the other way round",
                                comm->rank, last, rank, i),
              .hint = "register the windows in the same order on every rank",
              .where = where});
      }
    }
  }
}

ncclResult_t reject(ncclComm* comm, const char* kind, std::string why, const char* hint) {
  report_finding({.kind = kind, .message = "ncclCommWindowRegister: " + why, .hint = hint});
  return set_error(comm, ncclInvalidArgument, std::move(why));
}

// The rules for memory that may become a window.
ncclResult_t check_memory(ncclComm* comm, const void* buffer, std::size_t bytes) {
  const Allocation* allocation = in_arena(buffer) ? find_allocation(buffer) : nullptr;
  if (!allocation || !allocation->live) {
    return reject(comm, "window_memory",
                  allocation ? "the buffer was freed" : "the buffer is not device memory",
                  "allocate the buffer with ncclMemAlloc");
  }
  if (allocation->kind != AllocKind::NcclMemAlloc) {
    return reject(comm, "window_memory", "the buffer was not allocated with ncclMemAlloc",
                  "allocate the buffer with ncclMemAlloc: cudaMalloc memory cannot be shared");
  }
  const auto start = reinterpret_cast<uintptr_t>(buffer);
  if (start % NCCL_WIN_REQUIRED_ALIGNMENT) {
    return reject(comm, "window_alignment",
                  format("the buffer starts %zu bytes past a multiple of 4096",
                         static_cast<std::size_t>(start % NCCL_WIN_REQUIRED_ALIGNMENT)),
                  "register from a 4096-byte boundary, and use offsets inside of the window");
  }
  if (bytes == 0 || start + bytes > allocation->start + allocation->bytes) {
    return reject(
        comm, "window_range",
        format("%zu bytes are registered, but the allocation has %zu bytes left from "
               "there on",
               bytes, static_cast<std::size_t>(allocation->start + allocation->bytes - start)),
        "register no more than was allocated");
  }
  if (allocation->device != comm->device) {
    return reject(comm, "window_memory",
                  format("the buffer is on device %d, the communicator on device %d",
                         allocation->device, comm->device),
                  "allocate the buffer on the communicator's device");
  }
  return ncclSuccess;
}

void pair_windows(ncclComm* comm, const HostMeeting& meeting) {
  auto* set = new WindowSet;
  set->clique = comm->clique;
  for (void* member : meeting.argument) {
    auto* window = static_cast<ncclWindow_t>(member);
    window->set = set;
    set->members.push_back(window);
  }
}

}  // namespace

const std::vector<ncclWindow_t>& all_windows() { return g_windows; }
bool is_window(ncclWindow_t window) {
  for (const WindowChunk& chunk : g_window_chunks) {
    const auto bytes =
        reinterpret_cast<uintptr_t>(window) - reinterpret_cast<uintptr_t>(chunk.first);
    if (bytes < chunk.made * sizeof *window) return bytes % sizeof *window == 0;
  }
  return false;
}

ncclWindow_t make_window(ncclComm* comm, WindowSet* set, void* base, std::size_t bytes) {
  ncclWindow_t window = take_window();
  window->set = set;
  window->comm = comm;
  window->rank = comm->rank;
  window->base = static_cast<char*>(base);
  window->bytes = bytes;
  window->registered = capture_frames();
  g_windows.push_back(window);
  Allocation* allocation = find_allocation(base);
  allocation->windows++;
  allocation->shared++;
  window->allocation = allocation;
  return window;
}

void check_window(ncclWindow_t window, const char* what) {
  if (!window) {
    fail({.kind = kinds::window_null,
          .message = format("%s is called with a NULL window", what),
          .hint = "ncclCommWindowRegister may succeed and give NULL: check the window, not only "
                  "the result"});
  }
  if (!is_window(window)) {
    fail({.kind = kinds::window_null,
          .message = format("%s is called with a window that was never registered", what),
          .hint = "register the buffer with ncclCommWindowRegister and pass the window to the "
                  "kernel"});
  }
  if (!window->live) {
    fail({.kind = kinds::window_deregistered,
          .message = format("%s uses a window that was deregistered", what),
          .hint = "deregister a window only after the last kernel that uses it has ended",
          .other = window->deregistered});
  }
  if (const GpuThread* thread = current_thread();
      thread && thread->block->kernel->number <= window->too_early) {
    report_in_progress(format("%s uses a window that may not have been registered yet when the "
                              "kernel was launched",
                              what),
                       window->registered);
  }
  if (!window->allocation->live) {
    fail({.kind = kinds::window_use_after_free,
          .message = format("%s uses a window whose memory was freed", what),
          .hint = "deregister the window before its memory is freed, and free it last",
          .other = window->allocation->freed});
  }
}

char* member_pointer(ncclWindow_t window, int rank, std::size_t offset) {
  return window->set->members[static_cast<std::size_t>(rank)]->base + offset;
}

namespace {

void check_offset(const ncclWindow_vidmem& window, std::size_t offset, const char* what) {
  if (offset <= window.bytes) return;
  report_finding({.kind = kinds::window_range,
                  .message = format("%s: offset %zu is outside of a window of %zu bytes", what,
                                    offset, window.bytes),
                  .hint = "an offset counts bytes from the start of the window"});
}

void* pointer_to(ncclWindow_t window, std::size_t offset, int rank, const char* what,
                 const std::string& peer) {
  const Clique& clique = *window->set->clique;
  const int team = clique.lsa_size;
  if (rank < 0 || rank >= clique.size || rank / team != window->rank / team) {
    const int first = window->rank / team * team;
    fail({.kind = kinds::peer_not_in_lsa_team,
          .message = format("%s of %s on rank %d: only ranks %d to %d share memory with it", what,
                            peer.c_str(), window->rank, first, first + team - 1),
          .hint = "loads and stores reach the LSA team only (lsaSize ranks, numbered from 0); use "
                  "GIN puts for other ranks"});
  }
  check_offset(*window->set->members[static_cast<std::size_t>(rank)], offset, what);
  return member_pointer(window, rank, offset);
}

}  // namespace

void* window_pointer(ncclWindow_t window, std::size_t offset, Reach reach, int peer) {
  static const char* const kNames[] = {"ncclGetLocalPointer", "ncclGetLsaPointer",
                                       "ncclGetPeerPointer"};
  const char* what = kNames[static_cast<int>(reach)];
  check_window(window, what);
  meter_descriptor(window->base);
  const int team = window->set->clique->lsa_size;
  switch (reach) {
    case Reach::Local:
      check_offset(*window, offset, what);
      return window->base + offset;
    case Reach::Lsa: {
      const int rank = peer < 0 || peer >= team ? -1 : window->rank / team * team + peer;
      return pointer_to(window, offset, rank, what, format("LSA peer %d", peer));
    }
    default:
      return pointer_to(window, offset, peer, what, format("peer %d", peer));
  }
}

void* window_pointer(ncclWindow_t window, std::size_t offset, Team team, int peer) {
  check_window(window, "ncclGetPeerPointer");
  meter_descriptor(window->base);
  const int rank = window->rank + (peer - team.rank) * team.stride;
  const bool member = peer >= 0 && peer < team.ranks;
  return pointer_to(window, offset, member ? rank : -1, "ncclGetPeerPointer",
                    format("team member %d", peer));
}

void check_slot(int line, int lines, const char* call) {
  if (line >= 0 && line < lines) return;
  fail({.kind = kinds::out_of_bounds,
        .message = format("%s uses slot %d of %d", call, line, lines),
        .hint =
            "ask for more with ncclLLA2ACreateRequirement: ncclLLA2ACalcSlots says how many, and "
            "maxElts of the session must be the same"});
}

ncclResult_t host_pointer(ncclWindow_t window, std::size_t offset, bool lsa, int peer, void** out) {
  if (!out || !is_window(window) || !window->live) return ncclInvalidArgument;
  program_writes(out, sizeof *out);
  const int team = window->set->clique->lsa_size;
  const int rank = lsa ? window->rank / team * team + peer : peer;
  if (offset >= window->bytes || rank < 0 || rank >= window->set->clique->size) {
    return ncclInvalidArgument;
  }
  if (rank / team != window->rank / team) {
    if (lsa) return ncclInvalidArgument;
    *out = nullptr;  // said so for a peer that cannot be reached
    return ncclSuccess;
  }
  *out = member_pointer(window, rank, offset);
  return ncclSuccess;
}

}  // namespace warploom::nccl

using namespace warploom;
using namespace warploom::nccl;

extern "C" {

ncclResult_t ncclMemAlloc(void** pointer, std::size_t bytes) {
  if (!pointer) return ncclInvalidArgument;
  *pointer = nullptr;
  if (bytes == 0) return ncclSuccess;
  *pointer =
      allocate_device(current_host().device, bytes, AllocKind::NcclMemAlloc, capture_frames());
  return *pointer ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* pointer) {
  if (!pointer) return ncclSuccess;
  Allocation* allocation = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  if (!allocation || reinterpret_cast<uintptr_t>(pointer) != allocation->start) {
    report_finding(
        {.kind = kinds::invalid_free,
         .message = "ncclMemFree is called with a pointer that ncclMemAlloc did not give",
         .hint = "free the pointer that was allocated, once",
         .other = allocation && allocation->live ? allocation->allocated : Frames{}});
    return ncclInvalidArgument;
  }
  if (!allocation->live) {
    report_finding({.kind = kinds::double_free,
                    .message = "ncclMemFree is called twice for one allocation",
                    .hint = "free each allocation once",
                    .other = allocation->freed});
    return ncclInvalidArgument;
  }
  if (allocation->windows > 0) {
    report_finding({.kind = kinds::window_use_after_free,
                    .message = format("%zu bytes are freed while a window is registered on them",
                                      allocation->bytes),
                    .hint = "deregister the window before its memory is freed",
                    .other = allocation->allocated});
  }
  // As cudaFree, it waits for the device.
  synchronize_device(allocation->device, "ncclMemFree");
  release(allocation, capture_frames());
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, std::size_t bytes,
                              void** handle) {
  ncclComm* c = usable(comm, "ncclCommRegister");
  if (!c || !handle || !buffer) return ncclInvalidArgument;
  if (!check_range(buffer, bytes, "ncclCommRegister", capture_frames())) {
    return ncclInvalidArgument;
  }
  *handle =
      g_registrations.give(new Registered{in_arena(buffer) ? find_allocation(buffer) : nullptr});
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  ncclComm* c = usable(comm, "ncclCommDeregister");
  Registered* registration = g_registrations.find(handle);
  if (!c || !registration) return ncclInvalidArgument;
  const Allocation* allocation = registration->allocation;
  if (allocation && !allocation->live) {
    report_finding({.kind = kinds::use_after_free,
                    .message = "ncclCommDeregister: the buffer was freed while it was registered",
                    .hint = "deregister the buffer before its memory is freed",
                    .other = allocation->freed});
  }
  g_registrations.end(registration);
  delete registration;
  return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, std::size_t bytes,
                                    ncclWindow_t* out, int) {
  ncclComm* c = usable(comm, "ncclCommWindowRegister");
  if (!c || !out) return ncclInvalidArgument;
  *out = nullptr;
  const ncclResult_t valid = check_memory(c, buffer, bytes);
  if (valid != ncclSuccess) return valid;
  const Frames where = capture_frames();
  auto& mine = c->clique->registrations[static_cast<std::size_t>(c->rank)];
  mine.push_back({origin(buffer, where), bytes, reinterpret_cast<uintptr_t>(out)});
  check_order(c, where);
  ncclWindow_t window = make_window(c, nullptr, buffer, bytes);
  auto meeting = std::make_shared<std::shared_ptr<HostMeeting>>();
  return run_host_task({[=] {
                          *meeting = post_meeting(c, "ncclCommWindowRegister",
                                                  format("%zu bytes", bytes), window);
                          if ((*meeting)->arrived == c->clique->size) pair_windows(c, **meeting);
                        },
                        [=]() -> ncclResult_t {
                          await_priced_meeting(c, **meeting);
                          *out = window;
                          if (!c->blocking) {
                            window->too_early = UINT32_MAX;
                            c->registering.push_back(window);
                          }
                          return in_background(c);
                        }});
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  ncclComm* c = usable(comm, "ncclCommWindowDeregister");
  if (!c || !is_window(window)) return ncclInvalidArgument;
  if (!window->live) {
    report_finding({.kind = kinds::window_deregistered,
                    .message = "a window is deregistered twice",
                    .hint = "deregister each window once",
                    .other = window->deregistered});
    return ncclInvalidArgument;
  }
  // It is local: peers keep what they have mapped until they deregister, too.
  trace([] { return std::string("ncclCommWindowDeregister"); });
  window->deregistered = capture_frames();
  check_quiet(window, window->deregistered);
  window->live = false;
  if (Allocation* a = find_allocation(window->base)) a->windows--;
  const auto& members = window->set->members;
  if (std::any_of(members.begin(), members.end(), [](ncclWindow_t m) { return m->live; })) {
    return ncclSuccess;
  }
  for (ncclWindow_t member : members) {
    Allocation* a = find_allocation(member->base);
    if (a && a->shared > 0) a->shared--;
  }
  return ncclSuccess;
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void** out) {
  ncclComm* c = usable(comm, "ncclWinGetUserPtr");
  if (!c || !out || !is_window(window) || !window->live) return ncclInvalidArgument;
  *out = window->base;
  return ncclSuccess;
}

}  // extern "C"
