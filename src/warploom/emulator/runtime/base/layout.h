// Where the emulated memory lies. A program sees its addresses, and must not tell the emulator from
// a GPU by them: each range is drawn anew for each run, from all of the places where CUDA and Linux
// put such memory. What lies at the place of one machine today lies elsewhere in the next run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom {

enum class Habitat : uint8_t {
  Device,     // cudaMalloc, shared and local memory, pinned memory
  Heap,       // malloc: behind the executable, or among mappings
  HostStack,  // the main thread's, or another one's
};

constexpr int kMaxDevices = 512;
constexpr std::size_t kMostOfDevice = std::size_t{48} << 30;  // addresses that it uses
constexpr std::size_t kSharedSlot = 256 << 10;                // that a block can have
constexpr std::size_t kSharedStride = 16 << 20;               // a GPU's windows are as large
constexpr std::size_t kSharedReserved = 1 << 10;              // of the system, at a slot's start
int shared_slots();                                           // blocks with shared memory at a time
constexpr std::size_t kPinnedBytes = std::size_t{256} << 30;
constexpr std::size_t kClosureBytes = std::size_t{16} << 30;  // kernel arguments

// What device code touches most is found by these. They are set before the program is loaded, in
// pages that are read-only from then on.
struct alignas(4096) Places {
  uintptr_t arena = 0, arena_bytes = 0;  // devices, then shared and pinned memory
  uintptr_t shared = 0, pinned = 0;
  unsigned device_shift = 0;  // addresses of one device, as a power of two
  uintptr_t gpu_stacks = 0, gpu_stacks_bytes = 0;
  uintptr_t heaps = 0, heaps_bytes = 0;
  uintptr_t closures = 0;
  uintptr_t multimem = 0, multimem_teams = 0;
};
extern Places g_places;

// Draws all of it for g_config; nothing else is at these addresses from then on.
void draw_layout();
// The draws of a run: others follow on the last one.
constexpr uint64_t kArenaDraw = 1, kGpuStacksDraw = 2, kClosuresDraw = 3, kMultimemDraw = 4,
                   kHeapsDraw = 5, kHostStacksDraw = 6;
// The runtime's own ranges, which no program sees: the history of accesses, and owners of memory.
constexpr uintptr_t kGranules = 0x040000000000, kOwners = 0x0B0000000000;
// Of results in memory that both sides see: stored by a device, and told to a host (results.h).
constexpr uintptr_t kStoredMarks = 0x0B8000000000, kToldMarks = 0x0BC000000000;
// Addresses for `bytes`, a multiple of `step` (a power of two), which nothing else has and which
// cannot be touched yet. `salt` tells one draw of a run from the others.
uintptr_t draw_addresses(Habitat habitat, std::size_t bytes, std::size_t step, uint64_t salt);
// Lets what was drawn be read and written.
void open_addresses(uintptr_t start, std::size_t bytes);

namespace nccl {

// Multimem addresses: nothing is mapped there, one is only a name for the members' memory.
constexpr std::size_t kMultimemTeam = std::size_t{16} << 30;  // the addresses of one team

inline bool in_multimem(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - g_places.multimem <
         kMultimemTeam * g_places.multimem_teams;
}

}  // namespace nccl

}  // namespace warploom
