#include "history.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "memory.h"
#include "world.h"

namespace warploom {

namespace {

constexpr uintptr_t kGranules = 0x0F0000000000;
constexpr uintptr_t kCells = 0x200000000000;
constexpr std::size_t kReleaseBytes = 1 << 20;  // give cells back to the system above this size

void map(uintptr_t start, std::size_t bytes) {
  // Whole pages; neighbours may share one.
  const uintptr_t first = start & ~uintptr_t{4095};
  const std::size_t span = (start + bytes - first + 4095) & ~std::size_t{4095};
  void* got = mmap(reinterpret_cast<void*>(first), span, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got != reinterpret_cast<void*>(first)) {
    std::perror("warploom-emu: cannot reserve address space for the access history");
    std::exit(70);
  }
}

void map_history(uintptr_t arena, std::size_t bytes) {
  map(reinterpret_cast<uintptr_t>(&granule_of(arena)), bytes / kGranule * sizeof(Granule));
  map(reinterpret_cast<uintptr_t>(cells_of(arena)), bytes / 4 * sizeof(Cell));
}

}  // namespace

Granule& granule_of(uintptr_t address) {
  return reinterpret_cast<Granule*>(kGranules)[(address - kArenaBase) / kGranule];
}

Cell* cells_of(uintptr_t address) {
  return reinterpret_cast<Cell*>(kCells) + (address - kArenaBase) / kGranule * kGranuleCells;
}

void expand(Granule& granule, uintptr_t address) {
  std::fill_n(cells_of(address), kGranuleCells, granule.uniform);
  granule.expanded = 1;
}

void create_history(int devices, std::size_t device_bytes) {
  const std::size_t span = std::min(kDeviceStride, device_bytes * 2);
  for (int i = 0; i < devices; i++) {
    map_history(kArenaBase + kDeviceStride * static_cast<uintptr_t>(i), span);
  }
  map_history(kSharedBase, kSharedSlot * std::size_t{kSharedSlots});
  map_history(kPinnedBase, kPinnedBytes);
}

Record make_record(const Actor& actor, unsigned mask, bool atomic) {
  const uint32_t time = std::min(actor.time, kMaxTime);
  Record record;
  record.op = actor.op;
  record.block = op_of(actor.op).kind == OpKind::Channel ? actor.time : actor.block;
  record.bits = (uint64_t{actor.pc} & 0x7FFFFFF) | uint64_t{actor.thread} << 27 |
                uint64_t{mask} << 37 | uint64_t{atomic} << 41 | uint64_t{time} << 42;
  return record;
}

void forget_history(const void* start, std::size_t bytes) {
  if (!g_config.race || bytes == 0 || !in_arena(start)) return;
  auto address = reinterpret_cast<uintptr_t>(start) & ~uintptr_t{3};
  const uintptr_t end = reinterpret_cast<uintptr_t>(start) + bytes;
  if (bytes >= kReleaseBytes) {
    const auto first =
        (reinterpret_cast<uintptr_t>(cells_of(address + kGranule)) + 4095) & ~4095ull;
    const auto last = reinterpret_cast<uintptr_t>(cells_of(end)) & ~4095ull;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  while (address < end) {
    const uintptr_t next = std::min(end, (address / kGranule + 1) * kGranule);
    if (next - address == kGranule) {
      granule_of(address) = {};
    } else {
      for (uintptr_t word = address; word < next; word += 4) cell_of(word) = {};
    }
    address = next;
  }
}

}  // namespace warploom
