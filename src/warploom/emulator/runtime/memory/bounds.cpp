// Bounds, lifetime and reachability of accesses, and what is said of those that break them.
#include <algorithm>
#include <cstdlib>

#include "base/stats.h"
#include "behavior/iterations.h"
#include "behavior/results.h"
#include "behavior/versions.h"
#include "cuda/ipc.h"
#include "host/own_memory.h"
#include "kernels/cluster.h"
#include "kernels/kernel.h"
#include "kernels/shared_memory.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/memory_arena.h"
#include "memory/variables.h"
#include "network/multimem.h"
#include "order/history_read_only.h"
#include "order/race.h"
#include "report/report.h"

namespace warploom {

namespace {

// The allocation that ends nearest before `p`, for the message of an out-of-bounds access.
Allocation* nearest_before(const void* p) {
  Arena* arena = arena_of(p);
  return arena ? arena->at_or_before(reinterpret_cast<uintptr_t>(p)) : nullptr;
}

// Where nothing is mapped, and not far below the memory of devices: an index was below zero. What
// is near to NULL is farther away.
bool is_ahead_of_first(const void* p) {
  constexpr std::size_t kNear = std::size_t{4} << 30;
  return g_places.arena - reinterpret_cast<uintptr_t>(p) <= kNear;
}

// The first allocation of a device, for an access that begins just before it.
const Allocation* nearest_behind(const void* p) {
  Arena* arena = is_ahead_of_first(p) ? first_device_arena() : arena_of(p);
  return arena && !arena->allocations.empty() ? &arena->allocations.begin()->second : nullptr;
}

const char* verb(bool write) { return write ? "write" : "read"; }

std::string place_of(const Allocation& allocation) {
  return allocation.device < 0 ? "in the host's memory" : format("on device %d", allocation.device);
}

void report_bounds(const void* p, std::size_t bytes, const char* what, const Frames& where) {
  FindingInfo info{.kind = kinds::out_of_bounds, .message = "", .where = where};
  if (Allocation* near = nearest_before(p)) {
    const auto past = reinterpret_cast<uintptr_t>(p) + bytes - near->start - near->bytes;
    info.message =
        format("%s of %zu bytes ends %zu bytes past an allocation of %zu bytes %s", what, bytes,
               static_cast<std::size_t>(past), near->bytes, place_of(*near).c_str());
    info.other = near->allocated;
  } else if (const Allocation* next = nearest_behind(p)) {
    const uintptr_t before = next->start - reinterpret_cast<uintptr_t>(p);
    info.message =
        format("%s of %zu bytes begins %zu bytes before an allocation of %zu bytes %s", what, bytes,
               static_cast<std::size_t>(before), next->bytes, place_of(*next).c_str());
    info.other = next->allocated;
  } else {
    info.message = format("%s of %zu bytes at %p, which is in no allocation", what, bytes, p);
  }
  info.hint = "compare the index with the size that was allocated";
  report_finding(std::move(info));
}

void report_freed(const Allocation& freed, std::size_t bytes, const char* what,
                  const Frames& where) {
  report_finding({.kind = kinds::use_after_free,
                  .message = format("%s of %zu bytes in an allocation of %zu bytes that was freed",
                                    what, bytes, freed.bytes),
                  .hint = "free memory only after the last operation on it has been synchronized",
                  .where = where,
                  .other = freed.freed});
}

// The allocation that holds all of the range and was not freed; nullptr: that was reported.
const Allocation* live_allocation(const void* p, std::size_t bytes, const char* what,
                                  const Frames& where) {
  const Allocation* allocation = find_allocation(p);
  if (allocation && !allocation->live) {
    report_freed(*allocation, bytes, what, where);
    return nullptr;
  }
  if (!allocation ||
      reinterpret_cast<uintptr_t>(p) + bytes > allocation->start + allocation->bytes) {
    report_bounds(p, bytes, what, where);
    return nullptr;
  }
  return allocation;
}

// Is it in one shared variable? Then that one is remembered.
bool find_shared(Block& block, uintptr_t start, uintptr_t end) {
  const auto holds = [&](uintptr_t first, std::size_t bytes) {
    if (start < first || end > first + bytes) return false;
    block.hits[block.next_hit++ % Block::kHits] = {first, first + bytes};
    return true;
  };
  if (block.dynamic_start && holds(block.dynamic_start, block.kernel->config.shared_bytes)) {
    return true;
  }
  return std::ranges::any_of(block.shared,
                             [&](const SharedVariable& v) { return holds(v.start, v.bytes); });
}

// The block whose shared memory it is, if that is one of the thread's cluster.
Block& holder_of(const GpuThread& thread, uintptr_t address) {
  Block& own = *thread.block;
  if (!own.cluster || address - shared_window(own) < kSharedStride) return own;
  Block* other = sharer_of(thread, address);
  return other ? *other : own;
}

bool check_shared(const void* p, std::size_t bytes, bool write, const GpuThread& thread) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  Block& block = holder_of(thread, address);
  if (find_shared(block, address, address + bytes)) return true;
  if (place_shared(block, address) && find_shared(block, address, address + bytes)) return true;
  const char* name = "shared memory";
  uintptr_t best = 0;
  for (const SharedVariable& variable : block.shared) {
    if (variable.start <= address && variable.start >= best) {
      best = variable.start;
      name = variable.name;
    }
  }
  if (block.dynamic_start && block.dynamic_start <= address && block.dynamic_start >= best) {
    report_finding(
        {.kind = kinds::out_of_bounds,
         .message = format("%s of %zu bytes outside of the %zu bytes of dynamic shared memory "
                           "that the launch asks for",
                           verb(write), bytes, block.kernel->config.shared_bytes),
         .hint = "compare the launch's third argument with what the kernel uses"});
    return false;
  }
  report_finding({.kind = kinds::out_of_bounds,
                  .message = format("%s of %zu bytes outside of '%s' in shared memory", verb(write),
                                    bytes, name),
                  .hint = "compare the index with the array's size"});
  return false;
}

// What `threadIdx` and its like name, which may be handed on by reference.
bool is_here(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(&g_here) < sizeof g_here;
}

// Constants of the program. Its variables are the device's, and registered, or the host's alone.
bool is_programs_constant(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const Process& process = current_process();
  return address >= process.base && address < process.end && !process.holds_variable(address);
}

// Pinned and managed memory is of the process that allocated it, as all that only a pointer names.
bool check_process(const Allocation& allocation, bool write) {
  if (allocation.is_of(*g_current)) return true;
  report_finding(
      {.kind = kinds::foreign_memory,
       .message = format("%s code %ss pinned or managed memory of another process (rank "
                         "%d)",
                         current_thread() ? "device" : "host", verb(write), allocation.process),
       .hint = "on a cluster this address means something else there: send the data, "
               "not a pointer to it",
       .other = allocation.allocated});
  return false;
}

// Processes that share a device have address spaces of their own.
bool report_guest(const Allocation& allocation, bool write) {
  report_finding({.kind = kinds::foreign_memory,
                  .message = format("device code %ss memory of another process (rank %d) on the "
                                    "same device",
                                    verb(write), allocation.process),
                  .hint = "an address means nothing in other processes: open a handle of the "
                          "memory (cudaIpcOpenMemHandle), or send the data",
                  .other = allocation.allocated});
  return false;
}

// What would open it depends on whose memory it is, and on whether NCCL knows it.
void report_unreachable(const Allocation& allocation, int from, bool write) {
  const char* cure =
      "an address means nothing in other processes: open a handle of the memory "
      "(cudaIpcOpenMemHandle), or send the data";
  if (allocation.shared > 0) {
    cure = "only ranks of one LSA team share memory; use GIN puts for the others";
  } else if (allocation.is_of(*g_current)) {
    cure = allocation.kind == AllocKind::Async
               ? "open the pool to this device first (cudaMemPoolSetAccess), or copy the data"
               : "call cudaDeviceEnablePeerAccess on this device first, or copy the data "
                 "(cudaMemcpyPeerAsync)";
  }
  report_finding({.kind = kinds::peer_not_in_lsa_team,
                  .message = format("rank %d %ss memory of rank %d, which it cannot reach by loads "
                                    "and stores",
                                    from, verb(write), allocation.device),
                  .hint = cure});
}

// May the running GPU thread touch the memory?
bool reachable(const Allocation& allocation, int from) {
  const bool own = allocation.is_of(*g_current);
  if (allocation.device < 0 || (allocation.device == from && own)) return true;
  if (allocation.shared > 0 && lsa_team_of(allocation.device) == lsa_team_of(from)) return true;
  // Peer access is between the devices of one process, and does not open the memory of pools.
  const Device& device = *g_devices[static_cast<std::size_t>(from)];
  const auto& open = allocation.kind == AllocKind::Async ? device.pools : device.peers;
  if (own) return open[static_cast<std::size_t>(allocation.device)];
  return opened_by(allocation, g_current->process->rank, from) == Opened::Now;
}

bool check_variable(const Variable& variable, const void* p, std::size_t bytes, bool write) {
  if (!current_thread() && !variable.managed) {
    report_finding({.kind = kinds::host_dereference,
                    .message = format("host code %ss '%s', a variable of the device", verb(write),
                                      variable.name),
                    .hint = "use cudaMemcpyToSymbol and cudaMemcpyFromSymbol"});
    return false;
  }
  if (reinterpret_cast<uintptr_t>(p) + bytes <= variable.start + variable.bytes) {
    if (write && variable.cached && current_thread()) note_constant_store(variable, p, bytes);
    return true;
  }
  report_finding({.kind = kinds::out_of_bounds,
                  .message = format("%s of %zu bytes passes the end of '%s', which has %zu bytes",
                                    verb(write), bytes, variable.name, variable.bytes),
                  .hint = "compare the index with the array's size"});
  return false;
}

// Others are variables of the thread (see constant_parameter).
bool is_constant_parameter(const Kernel& kernel, const void* p) {
  return std::ranges::any_of(kernel.constants, [&](const auto& known) {
    const auto& [which, copy] = known;
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(copy) < which.second;
  });
}

void report_parameter() {
  report_finding({.kind = kinds::data_race,
                  .message = "device code stores to a parameter of the kernel that is constant "
                             "(const, __grid_constant__)",
                  .hint = "such parameters are in constant memory: store to a copy, or leave the "
                          "const out"});
}

bool check_thread_access(const void* p, std::size_t bytes, bool write, GpuThread& thread) {
  switch (space_of(p)) {
    case Space::Shared:
      return check_shared(p, bytes, write, thread);
    case Space::None: {
      if (nccl::in_multimem(p)) nccl::refuse_plain_access(p, write);
      if (write && is_constant_parameter(*thread.block->kernel, p)) report_parameter();
      if ((!write && is_here(p)) || is_closure(p) || is_programs_constant(p)) return false;
      // What was registered may have been unmapped since, and is another's then.
      if (const Whose whose = owner_of_host(p, bytes, write);
          whose != Whose::Own && whose != Whose::Nobody) {
        check_host_memory(p, bytes, write);
        return false;
      }
      if (is_registered(p, bytes) || in_own_stack(p)) return false;
      if (is_ahead_of_first(p)) {
        report_bounds(p, bytes, verb(write), {});
        return false;
      }
      report_finding(
          {.kind = kinds::device_dereference_host,
           .message = format("device code %ss ordinary host memory at %p", verb(write), p),
           .hint = "copy the data to the device, or allocate it with cudaMallocHost, "
                   "cudaHostAlloc or cudaMallocManaged"});
      return false;
    }
    default:
      break;
  }
  const Allocation* allocation = live_allocation(p, bytes, verb(write), {});
  if (!allocation) return false;
  if (allocation->device < 0 && !check_process(*allocation, write)) return false;
  const int device = thread.block->kernel->device;
  if (!reachable(*allocation, device)) {
    Frames closed;
    const int rank = thread.block->kernel->process->rank;
    if (opened_by(*allocation, rank, device, &closed) == Opened::Before) {
      report_closed(*allocation, write ? "device code writes" : "device code reads", {}, closed);
      return false;
    }
    if (allocation->device == device) return report_guest(*allocation, write);
    report_unreachable(*allocation, device, write);
    return false;
  }
  if (allocation->device >= 0 && allocation->device != device) {
    if (g_poisoning) note_communication();
    g_stats.peer_bytes += bytes;
    if (write) {
      thread.stored_to = allocation->device;
      thread.block->stored_to_peers = true;
    }
  }
  return true;
}

}  // namespace

bool check_access(const void* p, std::size_t bytes, bool write) {
  if (!in_arena(p)) {
    if (const Variable* variable = find_variable(p)) {
      return check_variable(*variable, p, bytes, write);
    }
  }
  if (GpuThread* thread = current_thread()) return check_thread_access(p, bytes, write, *thread);
  const Space space = space_of(p);
  if (space == Space::Device || space == Space::Shared) {
    report_finding({.kind = kinds::host_dereference,
                    .message = format("host code %ss device memory at %p", verb(write), p),
                    .hint = "copy it to the host first (cudaMemcpy)"});
    return false;
  }
  if (space == Space::Pinned) {
    return check_range(p, bytes, verb(write), {}) && check_process(*find_allocation(p), write);
  }
  return false;
}

// A pointer of another process means nothing to a call, unless a window has mapped the memory here.
static bool check_owner(const Allocation& allocation, const char* what, const Frames& where) {
  if (!g_current || !g_current->host || allocation.is_of(*g_current)) return true;
  const int here = current_host().device;
  if (allocation.shared > 0 && lsa_team_of(allocation.device) == lsa_team_of(here)) return true;
  Frames closed;
  const Opened opened = opened_by(allocation, current_process().rank, -1, &closed);
  if (opened == Opened::Now) return true;
  if (opened == Opened::Before) {
    report_closed(allocation, format("%s gets", what).c_str(), where, closed);
    return false;
  }
  report_finding(
      {.kind = kinds::foreign_memory,
       .message = format("%s gets memory of another process (rank %d)", what, allocation.process),
       .hint = "in this process the address means something else: send the data, not a "
               "pointer to it",
       .where = where,
       .other = allocation.allocated});
  return false;
}

bool check_range(const void* p, std::size_t bytes, const char* what, const Frames& where) {
  if (bytes == 0) return false;
  if (!in_arena(p)) {
    const Variable* variable = find_variable(p);
    if (!variable) {
      check_host_memory(p, bytes, false, what);
      return false;
    }
    if (reinterpret_cast<uintptr_t>(p) + bytes <= variable->start + variable->bytes) return true;
    report_finding({.kind = kinds::out_of_bounds,
                    .message = format("%s of %zu bytes passes the end of '%s', which has %zu bytes",
                                      what, bytes, variable->name, variable->bytes),
                    .hint = "compare the size with the variable's",
                    .where = where});
    return false;
  }
  const Allocation* allocation = live_allocation(p, bytes, what, where);
  return allocation && check_owner(*allocation, what, where);
}

}  // namespace warploom
