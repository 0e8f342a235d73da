#include "memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "behavior/carried.h"
#include "behavior/results.h"
#include "behavior/versions.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/fresh.h"
#include "memory/memory_arena.h"
#include "order/race.h"

namespace warploom {

KnownAllocation g_known_allocations[kKnownAllocations];

namespace {

constexpr std::size_t kAlignment = 512;          // of cudaMalloc
constexpr std::size_t kHeapAlignment = 16;       // of malloc in device code
constexpr std::size_t kGuard = 512;              // unmapped-looking gap behind each allocation
constexpr std::size_t kNcclAlignment = 2 << 20;  // ncclMemAlloc hands out whole 2 MiB granules
constexpr std::size_t kReleasePages = 64 << 10;  // give freed pages back above this size

std::vector<Arena> g_device_arenas;
Arena g_pinned;

void drop_cache() {
  std::fill(std::begin(g_known_allocations), std::end(g_known_allocations), KnownAllocation{});
}

// Programs have 47 bits of addresses.
void map_owners() {
  const std::size_t bytes = (std::size_t{1} << 47) / kOwnedChunk;
  void* got = mmap(reinterpret_cast<void*>(kOwners), bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != reinterpret_cast<void*>(kOwners)) {
    std::perror("warploom-emu: cannot reserve address space for device memory");
    std::exit(70);
  }
}

void mark_chunks(const Allocation& allocation, uint8_t mark) {
  const uintptr_t first = (allocation.start + kOwnedChunk - 1) / kOwnedChunk;
  const uintptr_t last = (allocation.start + allocation.bytes) / kOwnedChunk;
  if (first < last) std::memset(reinterpret_cast<void*>(kOwners + first), mark, last - first);
}

void mark_owner(const Allocation& allocation) {
  mark_chunks(allocation, allocation.of_guest ? 0 : owner_mark(allocation.device));
}

void* allocate_in(Arena& arena, std::size_t bytes, AllocKind kind, int device,
                  const Frames& where) {
  if (bytes == 0 || bytes > arena.capacity - arena.used) return nullptr;
  const bool heap = kind == AllocKind::Heap;
  const std::size_t step = heap ? kHeapAlignment : kAlignment;
  const std::size_t align = kind == AllocKind::NcclMemAlloc ? kNcclAlignment : step;
  const std::size_t span = (bytes + (heap ? kHeapAlignment : kGuard) + step - 1) / step * step;
  // Freed addresses are used again only when there are no others: that shows who still uses them.
  uintptr_t start = arena.take_untouched(span, align);
  const bool untouched = start != 0;
  if (untouched) {
    prefer_huge_pages(reinterpret_cast<void*>(start), bytes);
  } else {
    start = arena.take_freed(span, align);
    if (!start) return nullptr;
    drop_cache();
  }
  arena.used += bytes;
  Allocation& entry = arena.allocations[start];
  entry = {start, bytes, kind, device, true, 0, 0, where, {}};
  if (g_current && g_current->process) entry.process = g_current->process->rank;
  if (g_current && g_current->host) entry.thread = g_current->host->number;
  static uint64_t allocations = 0;
  entry.number = ++allocations;
  entry.of_guest = device >= 0 && entry.process >= 0 &&
                   !g_devices[static_cast<std::size_t>(device)]->is_for(entry.process);
  mark_owner(entry);
  begin_versions(entry);
  fill_fresh(start, bytes);
  if (untouched) {
    prefer_huge_history(start, bytes);
  } else {
    forget_history(reinterpret_cast<void*>(start), bytes);
  }
  return reinterpret_cast<void*>(start);
}

}  // namespace

Allocation* find_in(Arena& arena, uintptr_t p) {
  Allocation* found = arena.at_or_before(p);
  return found && p < found->start + found->bytes ? found : nullptr;
}

Arena* arena_of(const void* p) {
  switch (space_of(p)) {
    case Space::Device: {
      const auto device = static_cast<std::size_t>(device_of(p));
      return device < g_device_arenas.size() ? &g_device_arenas[device] : nullptr;
    }
    case Space::Pinned:
      return &g_pinned;
    default:
      return nullptr;
  }
}

Arena* first_device_arena() { return g_device_arenas.empty() ? nullptr : &g_device_arenas.front(); }

Space space_of(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address - g_places.arena < g_places.shared - g_places.arena) return Space::Device;
  if (in_shared(address)) return Space::Shared;
  if (address - g_places.pinned < kPinnedBytes) return Space::Pinned;
  return Space::None;
}

int device_of(const void* p) {
  return static_cast<int>((reinterpret_cast<uintptr_t>(p) - g_places.arena) >>
                          g_places.device_shift);
}

void create_arena(int devices, std::size_t device_bytes) {
  const std::size_t span = device_span(device_bytes);
  for (int i = 0; i < devices; i++) {
    const uintptr_t base = device_start(i);
    open_addresses(base, span);
    g_device_arenas.push_back({base, base, base + span, device_bytes, 0, {}});
  }
  map_owners();
  create_result_marks();
  const uintptr_t pinned = g_places.pinned;
  open_addresses(g_places.shared, pinned - g_places.shared);
  open_addresses(pinned, kPinnedBytes);
  // The upper half keeps the history of variables (variables.cpp).
  g_pinned = {pinned, pinned, pinned + kPinnedBytes / 2, kPinnedBytes / 4, 0, {}};
}

void* allocate_device(int device, std::size_t bytes, AllocKind kind, const Frames& where) {
  return allocate_in(g_device_arenas[static_cast<std::size_t>(device)], bytes, kind, device, where);
}

void* allocate_pinned(std::size_t bytes, AllocKind kind, const Frames& where) {
  return allocate_in(g_pinned, bytes, kind, -1, where);
}

Allocation* find_allocation(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  KnownAllocation& known = known_allocation(address);
  if (known.holds(address, 1)) return known.allocation;
  Arena* arena = arena_of(p);
  Allocation* found = arena ? find_in(*arena, address) : nullptr;
  if (found && found->live) {
    const int device = found->of_guest ? kOfGuest : found->device;
    known = {found->start, found->bytes, found, device};
  }
  return found;
}

std::vector<const Allocation*> live_allocations() {
  std::vector<const Allocation*> found;
  const auto add = [&](const Arena& arena) {
    for (const auto& [start, allocation] : arena.allocations) {
      if (allocation.live) found.push_back(&allocation);
    }
  };
  for (const Arena& arena : g_device_arenas) add(arena);
  add(g_pinned);
  return found;
}

void release(Allocation* allocation, const Frames& where) {
  drop_cache();
  mark_chunks(*allocation, 0);
  if (g_carrying) end_carried(allocation->start, allocation->bytes);
  end_versions(*allocation);
  forget_results(reinterpret_cast<void*>(allocation->start), allocation->bytes);
  allocation->live = false;
  allocation->freed = where;
  arena_of(reinterpret_cast<void*>(allocation->start))->used -= allocation->bytes;
  forget_history(reinterpret_cast<void*>(allocation->start), allocation->bytes);
  if (allocation->bytes >= kReleasePages) {
    const uintptr_t first = (allocation->start + 4095) & ~uintptr_t{4095};
    const uintptr_t last = (allocation->start + allocation->bytes) & ~uintptr_t{4095};
    madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

bool revive(Allocation* allocation) {
  Arena& arena = *arena_of(reinterpret_cast<void*>(allocation->start));
  if (allocation->live || allocation->bytes > arena.capacity - arena.used) return allocation->live;
  allocation->live = true;
  begin_versions(*allocation);
  mark_owner(*allocation);
  arena.used += allocation->bytes;
  fill_fresh(allocation->start, allocation->bytes);
  return true;
}

void prefer_huge_pages(const void* start, std::size_t bytes) {
  constexpr std::size_t kHugePage = 2 << 20;
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t first = (address + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t last = (address + bytes) & ~(kHugePage - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

std::size_t used_bytes(int device) {
  return g_device_arenas[static_cast<std::size_t>(device)].used;
}

std::size_t free_bytes(int device) {
  return total_bytes() - std::min(total_bytes(), used_bytes(device));
}

std::size_t total_bytes() { return g_config.device_memory; }

}  // namespace warploom
