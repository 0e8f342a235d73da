// Memory and events between processes: handles, which any message can carry, and what they open.
// An opened pointer is the address that its owner has; who may use it is what is kept here.
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "../../include/cuda_runtime.h"
#include "base/mix_bits.h"
#include "cuda/cuda_error.h"
#include "cuda/graph.h"
#include "cuda/ipc.h"
#include "cuda/stream.h"
#include "host/own_memory.h"
#include "host/program_range.h"
#include "order/completions.h"
#include "report/report.h"

namespace warploom {

namespace {

// One process has opened an allocation on one device of its own.
struct Opening {
  int rank = 0, device = 0;
  unsigned count = 0;  // how often, less how often it has closed it
  Frames opened, closed;
  Moment last_close{};
};
std::map<uint64_t, std::vector<Opening>> g_openings;  // by the allocation's number

// What a handle's bytes are: they mean nothing but here.
using HandleBytes = std::array<uint64_t, 8>;
static_assert(sizeof(HandleBytes) == CUDA_IPC_HANDLE_SIZE);

struct ExportedMemory {
  uintptr_t start = 0;
  uint64_t number = 0;  // of the allocation
  int rank = 0;
};
struct ExportedEvent {
  std::shared_ptr<EventState> state;
  int rank = 0;
};
std::map<HandleBytes, ExportedMemory> g_exported_memory;
std::map<HandleBytes, ExportedEvent> g_exported_events;

HandleBytes draw_handle() {
  static uint64_t drawn = 0;
  HandleBytes bytes;
  for (uint64_t& word : bytes) word = mix_bits(mix_bits(g_config.seed) + ++drawn);
  return bytes;
}

// The same bytes each time that one thing is asked for.
template <class Exported, class Same>
HandleBytes handle_of(std::map<HandleBytes, Exported>& table, const Exported& one, Same&& same) {
  for (const auto& [bytes, known] : table) {
    if (same(known)) return bytes;
  }
  const HandleBytes bytes = draw_handle();
  table.emplace(bytes, one);
  return bytes;
}

template <class Exported>
const Exported* find_exported(const std::map<HandleBytes, Exported>& table, const void* handle) {
  HandleBytes bytes;
  std::memcpy(&bytes, handle, sizeof bytes);
  const auto found = table.find(bytes);
  return found == table.end() ? nullptr : &found->second;
}

// Handles mean nothing on other machines.
bool on_this_machine(int rank) {
  return machine_of(*g_processes[static_cast<std::size_t>(rank)]) == machine_of(current_process());
}

Opening* opening_of(const Allocation& allocation, int rank, int device) {
  for (Opening& opening : g_openings[allocation.number]) {
    if (opening.rank == rank && opening.device == device) return &opening;
  }
  return nullptr;
}

cudaError_t open_memory(Allocation& allocation, void** pointer) {
  const HostThread& host = current_host();
  const int rank = host.process->rank;
  Opening* opening = opening_of(allocation, rank, host.device);
  if (!opening) {
    opening = &g_openings[allocation.number].emplace_back();
    opening->rank = rank;
    opening->device = host.device;
  }
  opening->count++;
  opening->opened = capture_frames();
  *pointer = reinterpret_cast<void*>(allocation.start);
  return cudaSuccess;
}

// The process's opening that `pointer` came from, of its current device first.
Opening* opening_at(const void* pointer, const Allocation* allocation) {
  if (!allocation || allocation->start != reinterpret_cast<uintptr_t>(pointer)) return nullptr;
  const HostThread& host = current_host();
  Opening* found = nullptr;
  for (Opening& opening : g_openings[allocation->number]) {
    if (opening.rank != host.process->rank || !opening.count) continue;
    if (!found || opening.device == host.device) found = &opening;
  }
  return found;
}

void report_open_still(const Opening& opening, const Allocation& allocation, bool open) {
  report_finding(
      {.kind = kinds::use_after_free,
       .message = open ? format("cudaFree of %zu bytes that rank %d has opened and not closed",
                                allocation.bytes, opening.rank)
                       : format("cudaFree of %zu bytes is not ordered after the "
                                "cudaIpcCloseMemHandle of rank %d",
                                allocation.bytes, opening.rank),
       .hint = "let the others call cudaIpcCloseMemHandle, and wait for them (MPI_Barrier), before "
               "the memory is freed",
       .other = open ? opening.opened : opening.closed});
}

}  // namespace

Opened opened_by(const Allocation& allocation, int rank, int device, Frames* closed) {
  if (!allocation.exported) return Opened::Never;
  Opened state = Opened::Never;
  for (const Opening& opening : g_openings[allocation.number]) {
    if (opening.rank != rank || (device >= 0 && opening.device != device)) continue;
    if (opening.count) return Opened::Now;
    state = Opened::Before;
    if (closed) *closed = opening.closed;
  }
  return state;
}

void report_closed(const Allocation& allocation, const char* what, const Frames& where,
                   const Frames& closed, std::optional<int> rank) {
  report_finding({.kind = kinds::use_after_free,
                  .message = format("%s memory of rank %d that cudaIpcCloseMemHandle has closed",
                                    what, allocation.process),
                  .hint = "close it after the last work that uses it has been synchronized",
                  .where = where,
                  .other = closed,
                  .rank = rank});
}

void check_exported(const Allocation& allocation) {
  if (!allocation.exported) return;
  for (const Opening& opening : g_openings[allocation.number]) {
    const bool ordered = !g_config.race || (opening.last_close.op &&
                                            covers(current_host().clock, opening.last_close));
    if (opening.count || !ordered) report_open_still(opening, allocation, opening.count > 0);
  }
  // Work of others that is still to come must not: the call waits for its own device alone.
  access_write(current_actor(program_place()), reinterpret_cast<void*>(allocation.start),
               allocation.bytes);
}

}  // namespace warploom

using namespace warploom;

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  if (!handle || !pointer) return cuda_fail(cudaErrorInvalidValue);
  Allocation* allocation = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  const bool own = allocation && allocation->live && allocation->is_of(*g_current);
  if (!own || allocation->kind != AllocKind::CudaMalloc) return cuda_fail(cudaErrorInvalidValue);
  allocation->exported = true;
  const ExportedMemory one{allocation->start, allocation->number, allocation->process};
  const HandleBytes bytes = handle_of(g_exported_memory, one, [&](const ExportedMemory& known) {
    return known.number == one.number;
  });
  std::memcpy(handle, &bytes, sizeof bytes);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (!pointer || flags != cudaIpcMemLazyEnablePeerAccess) return cuda_fail(cudaErrorInvalidValue);
  if (unsafe_during_capture()) return cudaErrorStreamCaptureUnsupported;
  const ExportedMemory* exported = find_exported(g_exported_memory, &handle);
  if (!exported || !on_this_machine(exported->rank)) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  if (exported->rank == current_process().rank) return cuda_fail(cudaErrorDeviceUninitialized);
  Allocation* allocation = find_allocation(reinterpret_cast<const void*>(exported->start));
  if (!allocation || !allocation->live || allocation->number != exported->number) {
    report_finding(
        {.kind = kinds::use_after_free,
         .message = format("cudaIpcOpenMemHandle of memory that rank %d has freed", exported->rank),
         .hint = "free it after the others have closed it",
         .other = allocation ? allocation->freed : Frames{}});
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  // It enables peer access, where there is some.
  if (lsa_team_of(allocation->device) != lsa_team_of(current_host().device)) {
    return cuda_fail(cudaErrorMapBufferObjectFailed);
  }
  return open_memory(*allocation, pointer);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  Allocation* allocation = in_arena(pointer) ? find_allocation(pointer) : nullptr;
  Opening* opening = opening_at(pointer, allocation);
  if (!opening) return cuda_fail(cudaErrorInvalidValue);
  if (--opening->count) return cudaSuccess;
  opening->closed = capture_frames();
  if (g_config.race) opening->last_close = moment_of(current_actor(program_place()));
  return cudaSuccess;
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event_handle) {
  const Event* event = g_event_handles.find(event_handle);
  if (!handle || !event) return cuda_fail(cudaErrorInvalidValue);
  if (!event->interprocess) return cuda_fail(cudaErrorInvalidResourceHandle);
  const ExportedEvent one{event->state, current_process().rank};
  const HandleBytes bytes = handle_of(
      g_exported_events, one, [&](const ExportedEvent& known) { return known.state == one.state; });
  std::memcpy(handle, &bytes, sizeof bytes);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  if (!event) return cuda_fail(cudaErrorInvalidValue);
  const ExportedEvent* exported = find_exported(g_exported_events, &handle);
  if (!exported || !on_this_machine(exported->rank)) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  if (exported->rank == current_process().rank) return cuda_fail(cudaErrorDeviceUninitialized);
  if (report_destroyed(exported->state->ended, "an event of another process")) {
    return cuda_fail(cudaErrorInvalidResourceHandle);
  }
  auto* made = new Event;
  made->device = current_host().device;
  made->timing = false;
  made->imported = true;
  made->state = exported->state;
  *event = g_event_handles.give(made);
  return cudaSuccess;
}
