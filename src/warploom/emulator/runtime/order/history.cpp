#include "order/history.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kernels/async_lane.h"
#include "machine/world.h"
#include "order/history_pool.h"
#include "order/history_short.h"

namespace warploom {

namespace {

constexpr std::size_t kMayBeSparse = std::size_t{2} << 30;

Pool g_whole(kGranuleCells * sizeof(Record));

void* map(uintptr_t start, std::size_t bytes) {
  // Whole pages; neighbors may share one.
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
  if (is_short()) [[unlikely]]
    return set_short(cell, record);
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
  set(cell, record);
}

void Plane::spread() {
  // The records of shared memory change with each interval of a block, and are few anyway.
  const auto here = reinterpret_cast<uintptr_t>(this);
  const bool in_shared = here >= reinterpret_cast<uintptr_t>(&granule_of(g_places.shared)) &&
                         here < reinterpret_cast<uintptr_t>(&granule_of(g_places.pinned));
  if (in_shared || !g_whole.passes(g_config.whole_history) || !to_short()) spread_whole();
}

void Plane::spread_whole() {
  auto* cells = static_cast<Record*>(g_whole.take());
  for (uint32_t cell = 0; cell < kGranuleCells; cell++) cells[cell] = at(cell);
  if (is_short()) collapse();
  cells_ = cells;
}

void Plane::collapse() {
  if (cells_) {
    g_whole.give_back(cells_);
    cells_ = nullptr;
  } else {
    ShortCells(old_.first.who).free();
    new_ = old_ = {};
  }
}

bool Plane::to_short() {
  ShortCells cells = ShortCells::make();
  for (uint32_t cell = 0; cell < kGranuleCells; cell++) {
    // A run may be of many blocks.
    if (cells.set(cell, at(cell))) continue;
    cells.free();
    return false;
  }
  new_ = {{}, kShort, 1};
  old_ = {{cells.where(), 0}, 0, 0};
  return true;
}

void Plane::set_short(uint32_t cell, Record record) {
  ShortCells cells(old_.first.who);
  const bool fits = cells.set(cell, record);
  old_.first.who = cells.where();
  if (!fits) {
    spread_whole();
    return set(cell, record);
  }
  // Once for each operation and block: see whether they touched all of it in order.
  if (cell == kGranuleCells - 1 && std::exchange(new_.first.who, record.who) != record.who) {
    try_run();
  }
}

void Plane::try_run() {
  const ShortCells cells(old_.first.who);
  CellRun run{cells[0], 0, 1};
  for (uint32_t cell = 1; cell < kGranuleCells; cell++) {
    if (!run.extend(cell, cells[cell])) return;
  }
  set_all({});
  new_ = run;
}

void create_history(int devices, std::size_t device_bytes) {
  const std::size_t span = device_span(device_bytes);
  for (int i = 0; i < devices; i++) {
    map_history(device_start(i), span);
  }
  map_history(g_places.shared, g_places.pinned - g_places.shared);
  map_history(g_places.pinned, kPinnedBytes);
}

Record make_record(const Actor& actor, unsigned mask, Atomicity atomic) {
  const bool put = op_of(actor.op).kind == OpKind::Channel;
  return {Record::who_is(actor.op, put ? actor.time : entered_block(actor)),
          record_bits(actor.pc, actor.thread, mask, atomic, actor.copy ? actor.copy : actor.time)};
}

bool exclude_each_other(const Record& one, const Record& other) {
  const Atomicity first = one.atomicity(), second = other.atomicity();
  if (!first || !second) return false;
  if (first.extent() != Extent::Any && second.extent() != Extent::Any &&
      (first.extent() != second.extent() || one.mask() != other.mask())) {
    return false;
  }
  const Scope scope = std::min(first.scope(), second.scope());
  if (scope == Scope::System) return true;
  if (one.op() == other.op()) return scope == Scope::Device || one.block() == other.block();
  const Op &before = op_of(one.op()), &now = op_of(other.op());
  if (before.kind == OpKind::Host && now.kind == OpKind::Host) return true;
  return scope == Scope::Device && before.device == now.device;
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
