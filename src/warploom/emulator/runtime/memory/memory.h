// Emulated memory: one arena per device, one for shared memory, one for pinned and managed memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "schedule/fiber.h"

namespace warploom {

enum class Space : uint8_t { None, Device, Shared, Pinned };
enum class AllocKind : uint8_t {
  CudaMalloc,
  NcclMemAlloc,
  Async,
  Heap,  // malloc and new in device code
  Pinned,
  Managed,
  Shared,
};

struct Allocation {
  uintptr_t start = 0;
  std::size_t bytes = 0;
  AllocKind kind = AllocKind::CudaMalloc;
  int device = -1;  // owner; -1 for pinned memory
  bool live = true;
  int windows = 0;  // NCCL windows that its owner has registered on it
  int shared = 0;   // of these, and of former ones, those that some rank has still registered
  Frames allocated, freed;
  bool of_graph = false;  // each launch of a graph allocates it anew
  bool exported = false;  // other processes may have opened it (ipc.h)
  bool of_guest = false;  // its process is not the one that its device is for (Device::process)
  int process = -1;       // that allocated it; -1: none in particular
  int thread = 0;         // of its host
  uint64_t number = 0;    // of all allocations of the run, from 1
  bool is_of(const Fiber& fiber) const;
};

inline bool in_arena(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - g_places.arena < g_places.arena_bytes;
}
inline bool in_shared(uintptr_t address) {
  return address - g_places.shared < g_places.pinned - g_places.shared;
}
inline uintptr_t device_start(int device) {
  return g_places.arena + (static_cast<uintptr_t>(device) << g_places.device_shift);
}
Space space_of(const void* p);
int device_of(const void* p);  // global device of a Device address

// Kernel arguments, which device code reads (see closure_memory in device.h).
bool is_closure(const void* p);

// Host memory that cudaHostRegister made reachable for devices.
void register_host(const void* p, std::size_t bytes);
bool unregister_host(const void* p);
bool is_registered(const void* p, std::size_t bytes);  // all of it, by the running process

// The addresses of a device that gives at most `bytes`: some room above that, so that freed ones
// are not reused soon.
inline std::size_t device_span(std::size_t bytes) {
  return std::min({bytes * 2, kMostOfDevice, std::size_t{1} << g_places.device_shift});
}
void create_arena(int devices, std::size_t device_bytes);
// managed_hints.cpp: what was said of managed memory that was there before.
void forget_hints(const void* p, std::size_t bytes);
// nullptr when the device has not that much memory left. Fresh memory holds one
// word throughout (fresh.h).
void* allocate_device(int device, std::size_t bytes, AllocKind kind, const Frames& where);
void* allocate_pinned(std::size_t bytes, AllocKind kind, const Frames& where);
// The live or freed allocation that holds `p` (or was the last to hold it), or nullptr.
Allocation* find_allocation(const void* p);
std::vector<const Allocation*> live_allocations();  // of devices, and pinned ones
void release(Allocation* allocation, const Frames& where);
// Makes what was released live again at its addresses; false where the memory is used up.
bool revive(Allocation* allocation);

// Live allocations by page: most accesses hit the one that the last access to the page hit.
constexpr int kOfNoDevice = -1, kOfGuest = -5;  // no device that a fiber could have
struct KnownAllocation {
  uintptr_t start = 0, bytes = 0;
  Allocation* allocation = nullptr;
  int device = 0;

  // Does it hold the `width` bytes at `address`?
  bool holds(uintptr_t address, std::size_t width) const {
    return address >= start && address - start + width <= bytes;
  }
  // The same for an address that is a multiple of `width`, as starts of allocations are.
  bool holds_aligned(uintptr_t address, std::size_t width) const {
    return address - start + (width - 1) < bytes;
  }
};
constexpr int kKnownAllocations = 256;
extern KnownAllocation g_known_allocations[kKnownAllocations];
inline KnownAllocation& known_allocation(uintptr_t address) {
  // Fibonacci hashing (Knuth): arrays of a power of two apart must not share an entry.
  return g_known_allocations[static_cast<uint32_t>(address >> 12) * 0x9E3779B1u >> 24];
}
// Whose memory each whole chunk of the addresses is: of a live allocation, 1 more than its device.
// 0 says nothing: a chunk may be shared, pinned, of no device, or of one of the few with high
// numbers.
constexpr std::size_t kOwnedChunk = 512;  // allocations start at multiples of it
inline uint8_t owner_of_chunk(uintptr_t address) {
  return reinterpret_cast<const uint8_t*>(kOwners)[address / kOwnedChunk];
}
constexpr uint8_t owner_mark(int device) {
  return device >= 0 && device < 255 ? static_cast<uint8_t>(device + 1) : 0;
}
// Memory that will be touched as a whole: fewer and larger pages, where whole ones lie in it.
void prefer_huge_pages(const void* start, std::size_t bytes);
// What a device says that it has, and has left; it may give more (Config::device_most).
std::size_t free_bytes(int device);
std::size_t total_bytes();
std::size_t used_bytes(int device);

// Bounds, lifetime and reachability of an access by the running fiber (host or GPU thread); a
// violation becomes a finding. False: nothing more can be said of this access.
bool check_access(const void* p, std::size_t bytes, bool write);
// The same for a copy, collective or put on behalf of `rank`; `what` names the call.
bool check_range(const void* p, std::size_t bytes, const char* what, const Frames& where);

}  // namespace warploom
