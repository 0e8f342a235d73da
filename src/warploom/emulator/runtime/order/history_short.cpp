#include "order/history_short.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "order/history_pool.h"

namespace warploom {

namespace {

constexpr unsigned kFewSlots = 16, kManySlots = 64;
static_assert(kManySlots == 1u << (16 - Record::kThreadBits));
constexpr std::size_t bytes_with(unsigned slots) {
  return kGranuleCells * sizeof(uint16_t) + slots * sizeof(Record);
}

Pool g_few(bytes_with(kFewSlots)), g_many(bytes_with(kManySlots));

}  // namespace

ShortCells ShortCells::make() {
  void* piece = g_few.take();
  std::memset(piece, 0, bytes_with(kFewSlots));
  return ShortCells(reinterpret_cast<uintptr_t>(piece));
}

void ShortCells::free() { (many() ? g_many : g_few).give_back(forms()); }

// What cells share is found by its hash (Fibonacci hashing, Knuth). Slot 0 is for no record at all;
// 0 for another: there is no room.
unsigned ShortCells::slot_of(const Record& common) {
  if (common == Record{}) return 0;
  Record* known = shared();
  const uint64_t hash = (common.who ^ common.bits << 29) * 0x9E3779B97F4A7C15;
  auto slot = static_cast<unsigned>(hash >> (many() ? 58 : 60));
  for (unsigned tries = 0; tries < kFewSlots; tries++, slot = (slot + 1) % slots()) {
    if (slot == 0) continue;
    if (known[slot] == common) return slot;
    if (known[slot] == Record{}) {
      known[slot] = common;
      return slot;
    }
  }
  return 0;
}

bool ShortCells::set(uint32_t cell, const Record& record) {
  Record common = record;
  common.bits &= ~(uint64_t{Record::kThreads} << Record::kThreadAt);
  const bool is_record = common != Record{};
  unsigned slot = slot_of(common);
  if (!slot && is_record && forget_unused()) slot = slot_of(common);
  if (!slot && is_record) {
    if (many()) return false;
    grow();
    return set(cell, record);
  }
  WARPLOOM_INVARIANT(cell < kGranuleCells && slot < slots());
  forms()[cell] = static_cast<uint16_t>(slot << Record::kThreadBits | record.thread());
  return true;
}

// Frees the slots that no cell refers to. False: they are so few that this would have to be done
// again soon.
bool ShortCells::forget_unused() {
  uint64_t used = 1;
  for (uint32_t cell = 0; cell < kGranuleCells; cell++) {
    used |= uint64_t{1} << (forms()[cell] >> Record::kThreadBits);
  }
  for (unsigned slot = 1; slot < slots(); slot++) {
    if (!(used >> slot & 1)) shared()[slot] = {};
  }
  return static_cast<unsigned>(std::popcount(used)) * 4 <= slots() * 3;
}

// What is in the slots stays where it is; it may come to lie in a second one.
void ShortCells::grow() {
  void* piece = g_many.take();
  std::memcpy(piece, forms(), bytes_with(kFewSlots));
  free();
  where_ = reinterpret_cast<uintptr_t>(piece) | kMany;
  std::fill_n(shared() + kFewSlots, kManySlots - kFewSlots, Record{});
}

}  // namespace warploom
