#include "behavior/results.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "behavior/inputs.h"
#include "behavior/looks.h"
#include "behavior/versions.h"
#include "machine/world.h"
#include "memory/sides.h"
#include "memory/variables.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr std::size_t kMarkBytes = kPinnedBytes / 8 + 4096;  // a mark is read with those behind it
static_assert(kStoredMarks + kMarkBytes <= kToldMarks);
constexpr std::size_t kResultChunk = 1 << 20;  // bytes that are reported together
constexpr std::size_t kMostTakers = 256;       // of one reading of a chunk

// What the host took of one chunk, each byte once; what it did not take holds the fresh word.
class TakenBytes {
 public:
  bool has(std::size_t at) const { return at < bytes_.size() && taken_[at / 64] >> at % 64 & 1; }
  void put(std::size_t at, uintptr_t address, char value) {
    while (bytes_.size() <= at) {
      const uintptr_t byte = address - at + bytes_.size();
      bytes_.push_back(static_cast<char>(g_config.fresh_word >> 8 * (byte % 4)));
    }
    taken_.resize((bytes_.size() + 63) / 64);
    bytes_[at] = value;
    taken_[at / 64] |= uint64_t{1} << at % 64;
  }
  const std::vector<char>& bytes() const { return bytes_; }
  // Who takes them: where in the program, and its callers.
  void note_taker(const Frames& taker) {
    if (takers_.size() > kMostTakers || (!takers_.empty() && takers_.back() == taker)) return;
    if (std::ranges::find(takers_, taker) != takers_.end()) return;
    takers_.push_back(takers_.size() < kMostTakers ? taker : Frames{});  // the last: and others
  }
  const std::vector<Frames>& takers() const { return takers_; }

 private:
  std::vector<Frames> takers_;
  std::vector<char> bytes_;
  std::vector<uint64_t> taken_;
};

// Of one allocation or variable.
struct SharedResult {
  ResultPlace place;  // of the whole: from its start
  std::map<std::size_t, std::vector<TakenBytes>> chunks;
};
std::map<std::pair<uint64_t, uintptr_t>, SharedResult> g_results;  // by allocation, and where

void map_marks(uintptr_t where) {
  void* got = mmap(reinterpret_cast<void*>(where), kMarkBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == reinterpret_cast<void*>(where)) return;
  std::perror("warploom-emu: cannot reserve address space for marks of results");
  std::exit(70);
}

constexpr uintptr_t kNoMarks = ~uintptr_t{0};
// Where the marks of `p` are, as bytes from the first; kNoMarks: it has none.
uintptr_t marks_of(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address - g_places.pinned < kPinnedBytes) return address - g_places.pinned;
  const Variable* variable = in_arena(p) ? nullptr : find_variable(p);
  const uintptr_t history = variable && variable->managed ? shadow_of(p) : 0;
  return history ? history - g_places.pinned : kNoMarks;
}

bool marked(uintptr_t marks, uintptr_t place) {
  return reinterpret_cast<const uint8_t*>(marks)[place / 8] >> place % 8 & 1;
}

void set_marks(uintptr_t marks, uintptr_t place, std::size_t bytes, bool value) {
  auto* start = reinterpret_cast<uint8_t*>(marks);
  for (const uintptr_t end = place + bytes; place < end;) {
    if (place % 8 == 0 && end - place >= 8) {
      const std::size_t whole = (end - place) / 8;
      std::memset(start + place / 8, value ? 0xFF : 0, whole);
      place += whole * 8;
      continue;
    }
    const auto bit = static_cast<uint8_t>(1u << place % 8);
    start[place / 8] =
        static_cast<uint8_t>(value ? start[place / 8] | bit : start[place / 8] & ~bit);
    place++;
  }
}

// No page of marks is made for what nobody has stored.
bool any_marks(uintptr_t place, std::size_t bytes) {
  const auto* start = reinterpret_cast<const uint8_t*>(kStoredMarks);
  return std::any_of(start + place / 8, start + (place + bytes + 7) / 8,
                     [](uint8_t mark) { return mark != 0; });
}

// The result that `p` lies in; nullptr: nothing that the host may read.
SharedResult* result_of(const void* p) {
  if (const Variable* variable = in_arena(p) ? nullptr : find_variable(p)) {
    if (!variable->managed) return nullptr;
    SharedResult& found = g_results[{0, variable->start}];
    found.place = {.rank = variable->rank, .name = variable->name, .start = variable->start};
    return &found;
  }
  const Allocation* allocation = find_allocation(p);
  if (!allocation || !allocation->live) return nullptr;
  SharedResult& found = g_results[{allocation->number, allocation->start}];
  found.place = {.rank = allocation->process,
                 .thread = allocation->thread,
                 .order = allocation->number,
                 .where = allocation->allocated,
                 .start = allocation->start};
  return &found;
}

void keep_byte(SharedResult& result, const char* p, const Frames& taker) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const std::size_t offset = address - result.place.start, at = offset % kResultChunk;
  auto& readings = result.chunks[offset / kResultChunk];
  auto next =
      std::ranges::partition_point(readings, [&](const TakenBytes& one) { return one.has(at); });
  if (next == readings.end()) next = readings.emplace(next);
  next->put(at, address, *p);
  next->note_taker(taker);
}

// Something but a kernel's thread reads what devices have stored. `keep`: it is a result.
void take_results(const void* p, std::size_t bytes, bool keep) {
  const uintptr_t place = marks_of(p);
  if (place == kNoMarks || !any_marks(place, bytes)) return;
  keep = keep && g_config.readbacks;
  SharedResult* result = nullptr;
  Frames taker;
  std::size_t untold = 0;
  for (std::size_t i = 0; i < bytes; i++) {
    if (!marked(kStoredMarks, place + i)) continue;
    if (!marked(kToldMarks, place + i)) untold++, set_marks(kToldMarks, place + i, 1, true);
    if (!keep) continue;
    if (!result) {
      if (!(result = result_of(p))) break;
      taker = capture_frames();
    }
    keep_byte(*result, static_cast<const char*>(p) + i, taker);
    set_marks(kStoredMarks, place + i, 1, false);
  }
  if (untold) note_results(untold, g_current ? current_rank() : -1);
}

}  // namespace

void note_device_stores(const void* p, std::size_t bytes) {
  const uintptr_t place = marks_of(p);
  if (place != kNoMarks) set_marks(kStoredMarks, place, bytes, true);
}

void note_host_access(const void* p, std::size_t bytes, bool write, bool strong) {
  if (g_looks_kept) host_looks_at(p, bytes, write);
  if (write) {
    forget_results(p, bytes);
  } else {
    take_results(p, bytes, !strong);
  }
}

void note_result_passes(const void* p, std::size_t bytes) {
  if (g_looks_kept) host_looks_at(p, bytes, false);
  take_results(p, bytes, false);
}

void forget_results(const void* p, std::size_t bytes) {
  const uintptr_t place = marks_of(p);
  if (place != kNoMarks && any_marks(place, bytes)) set_marks(kStoredMarks, place, bytes, false);
}

void copy_results(const void* dst, const void* src, std::size_t bytes) {
  const uintptr_t from = marks_of(src), to = marks_of(dst);
  if (to == kNoMarks) return take_results(src, bytes, true);
  if (on_device_side(src) && from == kNoMarks) return set_marks(kStoredMarks, to, bytes, true);
  if (from == kNoMarks || !any_marks(from, bytes)) return;
  for (std::size_t i = 0; i < bytes; i++) {
    if (marked(kStoredMarks, from + i)) set_marks(kStoredMarks, to + i, 1, true);
  }
}

void create_result_marks() {
  map_marks(kStoredMarks);
  map_marks(kToldMarks);
}

void report_results() {
  for (const auto& [key, result] : g_results) {
    for (const auto& [chunk, readings] : result.chunks) {
      ResultPlace place = result.place;
      place.start += chunk * kResultChunk;
      place.chunk = chunk;
      for (place.reading = 0; place.reading < readings.size(); place.reading++) {
        const TakenBytes& taken = readings[place.reading];
        report_result(place, taken.bytes(), taken.takers(),
                      versions_of({place.order, result.place.start, chunk * kResultChunk},
                                  taken.bytes(), [&](std::size_t at) { return taken.has(at); }));
      }
    }
  }
}

}  // namespace warploom
