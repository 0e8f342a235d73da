#include "history.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "world.h"

namespace warploom {

namespace {

constexpr std::size_t kPlaneBytes = kGranuleCells * sizeof(Record);
constexpr std::size_t kMayBeSparse = std::size_t{2} << 30;
constexpr std::size_t kChunk = 2 << 20;  // planes are made in chunks that can be one huge page

std::vector<Record*> g_free_planes;
char* g_fresh = nullptr;
std::size_t g_fresh_bytes = 0;

void* map(uintptr_t start, std::size_t bytes) {
  // Whole pages; neighbours may share one.
  const uintptr_t first = start & ~uintptr_t{4095};
  const std::size_t span = (start + bytes - first + 4095) & ~std::size_t{4095};
  void* got = mmap(reinterpret_cast<void*>(first), span, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (start ? MAP_FIXED : 0), -1, 0);
  if (got == MAP_FAILED) {
    std::perror("warploom-emu: no memory for the access history");
    std::exit(70);
  }
  return got;
}

void map_history(uintptr_t arena, std::size_t bytes) {
  map(reinterpret_cast<uintptr_t>(&granule_of(arena)), bytes / kGranule * sizeof(Granule));
}

void make_chunk() {
  const auto start = reinterpret_cast<uintptr_t>(map(0, 2 * kChunk));
  g_fresh = reinterpret_cast<char*>((start + kChunk - 1) & ~(kChunk - 1));
  g_fresh_bytes = kChunk;
  madvise(g_fresh, kChunk, MADV_HUGEPAGE);
}

Record* take_plane() {
  if (!g_free_planes.empty()) {
    Record* plane = g_free_planes.back();
    g_free_planes.pop_back();
    return plane;
  }
  if (!g_fresh_bytes) make_chunk();
  g_fresh_bytes -= kPlaneBytes;
  return reinterpret_cast<Record*>(g_fresh + g_fresh_bytes);
}

}  // namespace

bool CellRun::extend(uint32_t cell, const Record& record) {
  if (cell != uint32_t{start} + count) return false;
  if (record != at(cell) && !learn(cell, record)) return false;
  count++;
  return true;
}

// The first cell of the second thread, or of the second block, tells how many each one has.
bool CellRun::learn(uint32_t cell, const Record& record) {
  if (cells != kUnknown && threads != kUnknown) return false;
  CellRun run = *this;
  if (cells == kUnknown) {
    if (!std::has_single_bit(count)) return false;
    run.cells = static_cast<uint8_t>(std::countr_zero(count));
  }
  if (record != run.at(cell)) {
    const uint32_t thread = first.thread() + ((cell - start) >> run.cells);
    if (threads != kUnknown || !std::has_single_bit(thread)) return false;
    run.threads = static_cast<uint8_t>(std::countr_zero(thread));
    if (record != run.at(cell)) return false;
  }
  *this = run;
  return true;
}

void Plane::set_in_runs(uint32_t cell, Record record) {
  if (new_.holds(cell)) {
    if (same_but_place(new_.at(cell), record)) return;
  } else if (new_.count == 0) {
    new_ = {record, static_cast<uint16_t>(cell), 1};
    return;
  } else if (new_.extend(cell, record)) {
    forget_covered();
    return;
  }
  if (old_.count == 0) {
    old_ = std::exchange(new_, {record, static_cast<uint16_t>(cell), 1});
    return;
  }
  spread();
  cells_[cell] = record;
}

void Plane::spread() {
  Record* cells = take_plane();
  for (uint32_t cell = 0; cell < kGranuleCells; cell++) cells[cell] = at(cell);
  cells_ = cells;
}

void Plane::collapse() {
  g_free_planes.push_back(cells_);
  cells_ = nullptr;
}

void create_history(int devices, std::size_t device_bytes) {
  const std::size_t span = device_span(device_bytes);
  for (int i = 0; i < devices; i++) {
    map_history(kArenaBase + kDeviceStride * static_cast<uintptr_t>(i), span);
  }
  map_history(kSharedBase, kSharedSlot * std::size_t{kSharedSlots});
  map_history(kPinnedBase, kPinnedBytes);
}

Record make_record(const Actor& actor, unsigned mask, bool atomic) {
  const bool put = op_of(actor.op).kind == OpKind::Channel;
  return {Record::who_is(actor.op, put ? actor.time : actor.block),
          record_bits(actor.pc, actor.thread, mask, atomic, actor.time)};
}

void prefer_huge_history(uintptr_t start, std::size_t bytes) {
  // Who asks for that much may touch a place here and there.
  if (!g_config.race || bytes > kMayBeSparse) return;
  const Granule* first = &granule_of(start);
  const Granule* last = &granule_of(start + bytes);
  prefer_huge_pages(first, static_cast<std::size_t>(last - first) * sizeof(Granule));
}

void forget_history(const void* start, std::size_t bytes) {
  if (!g_config.race || bytes == 0 || !in_arena(start)) return;
  auto address = reinterpret_cast<uintptr_t>(start) & ~uintptr_t{3};
  const uintptr_t end = reinterpret_cast<uintptr_t>(start) + bytes;
  while (address < end) {
    const uintptr_t next = std::min(end, (address / kGranule + 1) * kGranule);
    Granule& granule = granule_of(address);
    for (Plane* plane : {&granule.write, &granule.reads[0], &granule.reads[1]}) {
      if (next - address == kGranule) {
        plane->set_all({});
        continue;
      }
      for (uintptr_t word = address; word < next; word += 4) plane->clear(word % kGranule / 4);
    }
    address = next;
  }
}

}  // namespace warploom
