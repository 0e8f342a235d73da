#include "versions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "memory.h"
#include "mix_bits.h"
#include "report.h"
#include "spoil.h"
#include "variables.h"
#include "world.h"

namespace warploom {

namespace {

constexpr unsigned kMostMoments = 64;  // of points, and of stops
constexpr uintptr_t kVersionPage = 4096;
constexpr unsigned kBits = 64;

// Which bytes of a page were stored since the moment before; nullptr: none.
using StoredBits = std::array<uint64_t, kVersionPage / kBits>;

// A page at one moment, and until the next one that is kept. One that is the same word throughout
// needs no room.
struct PageVersion {
  unsigned moment = 0;  // by its place among all
  uint32_t word = 0;
  std::shared_ptr<const char[]> all;  // of several, where they differ in what was stored
  std::unique_ptr<StoredBits> stored;
  bool unwatched = false;  // all of it counts as stored
};

// Of an allocation, or a variable: which, where, and of which device's it holds the values.
using HeldKey = std::tuple<uint64_t, uintptr_t, int>;
struct Held {
  unsigned since = 0;  // the first moment at which it was there
  // What was never anything but fresh is not among them.
  std::unordered_map<std::size_t, std::vector<PageVersion>> pages;
};

bool g_keeps_versions = false, g_watches_stores = false, g_unkept = false;
std::size_t g_most_versions = 0, g_version_bytes = 0, g_reported_bytes = 0;
std::vector<unsigned> g_moments;  // by their numbers
std::map<HeldKey, Held> g_held;
std::unordered_map<uintptr_t, StoredBits> g_stored;  // since the last moment, by page
uintptr_t g_last_page = 0;                           // whose bits these are
StoredBits* g_last_stored = nullptr;

HeldKey key_of_variable(const Variable& variable) {
  const bool one_each = g_config.single_process && !variable.managed;
  return {0, variable.start, one_each ? g_active_device : -1};
}

void give_up() {
  g_unkept = true;
  g_keeps_versions = false;
  g_held.clear();
  g_stored.clear();
  g_last_stored = nullptr;
}

bool all_word(const char* start, std::size_t bytes, uint32_t word) {
  if (bytes < sizeof word) return !std::memcmp(start, &word, bytes);
  return !std::memcmp(start, &word, sizeof word) &&
         !std::memcmp(start, start + sizeof word, bytes - sizeof word);
}

// The bits of `bytes` bytes at `start`, which may lie across two pages of addresses; nullptr: none.
std::unique_ptr<StoredBits> stored_at(uintptr_t start, std::size_t bytes) {
  std::unique_ptr<StoredBits> found;
  for (std::size_t i = 0; i < bytes;) {
    const uintptr_t at = start + i, page = at / kVersionPage;
    const std::size_t some = std::min(bytes - i, (page + 1) * kVersionPage - at);
    const auto known = g_stored.find(page);
    if (known != g_stored.end()) {
      if (!found) found = std::make_unique<StoredBits>();
      for (std::size_t j = 0; j < some; j++) {
        const std::size_t from = (at + j) % kVersionPage, to = i + j;
        if (from % kBits == 0 && to % kBits == 0 && some - j >= kBits) {
          (*found)[to / kBits] = known->second[from / kBits];
          j += kBits - 1;
        } else if (known->second[from / kBits] >> from % kBits & 1) {
          (*found)[to / kBits] |= uint64_t{1} << to % kBits;
        }
      }
    }
    i += some;
  }
  return found;
}

bool same_bytes(const PageVersion& known, const char* start, std::size_t bytes) {
  return known.all ? !std::memcmp(start, known.all.get(), bytes)
                   : all_word(start, bytes, known.word);
}

bool stored_alike(const PageVersion& known, bool unwatched, const StoredBits* stored) {
  if (known.unwatched != unwatched || !known.stored != !stored) return false;
  return !stored || *stored == *known.stored;
}

void keep_page(std::vector<PageVersion>& versions, const char* start, std::size_t bytes) {
  const bool unwatched = !g_watches_stores;
  auto stored = unwatched ? nullptr : stored_at(reinterpret_cast<uintptr_t>(start), bytes);
  const bool same = !versions.empty() && same_bytes(versions.back(), start, bytes);
  if (same && stored_alike(versions.back(), unwatched, stored.get())) return;
  const auto known = same ? versions.back().all : nullptr;
  PageVersion& version = versions.emplace_back();
  version.moment = static_cast<unsigned>(g_moments.size() - 1);
  version.unwatched = unwatched;
  std::memcpy(&version.word, start, std::min(sizeof version.word, bytes));
  g_version_bytes += sizeof version + (stored ? sizeof *stored : 0);
  version.stored = std::move(stored);
  version.all = known;
  if (same || all_word(start, bytes, version.word)) return;
  auto copy = std::make_unique_for_overwrite<char[]>(bytes);
  std::memcpy(copy.get(), start, bytes);
  version.all = std::move(copy);
  g_version_bytes += bytes;
}

void keep_range(const HeldKey& key, uintptr_t start, std::size_t bytes) {
  const auto [held, first] = g_held.try_emplace(key);
  if (first) held->second.since = static_cast<unsigned>(g_moments.size() - 1);
  auto& pages = held->second.pages;
  for (std::size_t at = 0; at < bytes && g_version_bytes <= g_most_versions; at += kVersionPage) {
    const std::size_t size = std::min<std::size_t>(kVersionPage, bytes - at);
    const auto* page = reinterpret_cast<const char*>(start + at);
    const auto known = pages.find(at / kVersionPage);
    if (known == pages.end() && all_word(page, size, g_config.fresh_word)) continue;
    keep_page(known == pages.end() ? pages[at / kVersionPage] : known->second, page, size);
  }
}

// Of a single process, the variables of each device take turns in one place.
void keep_variables() {
  const auto variables = all_variables();
  if (variables.empty()) return;
  const int active = g_active_device;
  const std::size_t devices = g_config.single_process ? g_devices.size() : 1;
  for (std::size_t d = 0; d < devices; d++) {
    if (g_config.single_process) activate_device(static_cast<int>(d));
    for (const Variable& v : variables) {
      if (d == 0 || !v.managed) keep_range(key_of_variable(v), v.start, v.bytes);
    }
  }
  if (g_config.single_process) activate_device(active);
}

// Who takes the time very often is looked at now and then: at which moments is nobody's choice.
bool is_kept(unsigned moment) {
  return moment / 2 <= kMostMoments || chosen_by_key(moment, moment / 2 / kMostMoments + 1);
}

// The version of a page that held at a moment; nullptr: it was fresh.
const PageVersion* version_at(const Held& held, std::size_t page, unsigned moment) {
  const auto known = held.pages.find(page);
  if (known == held.pages.end()) return nullptr;
  const auto& versions = known->second;
  const auto next = std::ranges::upper_bound(versions, moment, {}, &PageVersion::moment);
  return next == versions.begin() ? nullptr : &*std::prev(next);
}

// What it holds and which of that was stored, from `first` on, `bytes` bytes of one page.
void spread_version(const PageVersion* version, std::size_t first, std::size_t bytes, char* data,
                    std::size_t bit, std::vector<char>& stored) {
  const uint32_t word = version ? version->word : g_config.fresh_word;
  for (std::size_t i = 0; i < bytes; i++) {
    const std::size_t at = first + i;
    data[i] = version && version->all ? version->all[at] : static_cast<char>(word >> 8 * (at % 4));
    const bool anew =
        version && (version->unwatched ||
                    (version->stored && (*version->stored)[at / kBits] >> at % kBits & 1));
    if (anew) stored[(bit + i) / 8] |= static_cast<char>(1 << (bit + i) % 8);
  }
}

bool all_stored(const std::vector<char>& bits, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i++) {
    if (!(bits[i / 8] >> i % 8 & 1)) return false;
  }
  return true;
}

using Pages = std::vector<const PageVersion*>;

EarlierVersion assembled(const Pages& pages, std::size_t offset, const char* now, std::size_t bytes,
                         const std::function<bool(std::size_t)>& taken) {
  EarlierVersion found;
  found.bytes.resize(bytes);
  found.stored.resize((bytes + 7) / 8);
  std::size_t at = 0;
  for (const PageVersion* page : pages) {
    const std::size_t first = (offset + at) % kVersionPage;
    const std::size_t some = std::min<std::size_t>(bytes - at, kVersionPage - first);
    spread_version(page, first, some, found.bytes.data() + at, at, found.stored);
    at += some;
  }
  for (std::size_t i = 0; taken && i < bytes; i++) {
    if (!taken(i)) found.bytes[i] = now[i];
  }
  found.same = !std::memcmp(found.bytes.data(), now, bytes) && all_stored(found.stored, bytes);
  if (found.same) found.bytes.clear(), found.stored.clear();
  g_reported_bytes += found.bytes.size() + found.stored.size();
  return found;
}

std::vector<EarlierVersion> versions_in(const HeldKey& key, std::size_t offset, const char* now,
                                        std::size_t bytes,
                                        const std::function<bool(std::size_t)>& taken) {
  std::vector<EarlierVersion> found;
  const auto known = g_held.find(key);
  if (known == g_held.end() || bytes == 0) return found;
  const std::size_t first = offset / kVersionPage, last = (offset + bytes - 1) / kVersionPage;
  Pages before;
  for (unsigned m = known->second.since; m < g_moments.size(); m++) {
    Pages pages;
    for (std::size_t page = first; page <= last; page++) {
      pages.push_back(version_at(known->second, page, m));
    }
    if (found.empty() || pages != before) {
      EarlierVersion next = assembled(pages, offset, now, bytes, taken);
      if (found.empty() || !next.same || !found.back().same) found.push_back(std::move(next));
      if (g_reported_bytes > g_most_versions) {
        give_up();
        return {};
      }
    }
    found.back().moments.push_back(g_moments[m]);
    before = std::move(pages);
  }
  return found;
}

}  // namespace

void configure_versions(std::size_t most) {
  g_most_versions = most;
  g_keeps_versions = most > 0;
}

bool keeps_versions() { return g_keeps_versions; }

void keep_versions(unsigned moment) {
  if (!g_keeps_versions || !is_kept(moment)) return;
  g_moments.push_back(moment);
  for (const Allocation* a : live_allocations())
    keep_range({a->number, a->start, -1}, a->start, a->bytes);
  keep_variables();
  g_stored.clear();
  g_last_stored = nullptr;
  if (g_version_bytes > g_most_versions) give_up();
}

void watch_stores() { g_watches_stores = true; }

void note_version_store(const void* p, std::size_t bytes) {
  if (!g_keeps_versions || !g_watches_stores) return;
  auto address = reinterpret_cast<uintptr_t>(p);
  for (const uintptr_t end = address + bytes; address < end;) {
    const uintptr_t page = address / kVersionPage, line = address / kBits;
    const uintptr_t next = std::min(end, (line + 1) * kBits);
    if (!g_last_stored || g_last_page != page) {
      g_last_stored = &g_stored[page];  // whose places do not move
      g_last_page = page;
    }
    const uint64_t all =
        next - address == kBits ? ~uint64_t{0} : (uint64_t{1} << (next - address)) - 1;
    (*g_last_stored)[line % (kVersionPage / kBits)] |= all << address % kBits;
    address = next;
  }
}

std::vector<EarlierVersion> versions_of(const void* p, std::size_t bytes) {
  if (!g_keeps_versions) return {};
  const auto address = reinterpret_cast<uintptr_t>(p);
  const auto* now = static_cast<const char*>(p);
  if (const Variable* variable = in_arena(p) ? nullptr : find_variable(p)) {
    return versions_in(key_of_variable(*variable), address - variable->start, now, bytes, nullptr);
  }
  const Allocation* a = in_arena(p) ? find_allocation(p) : nullptr;
  if (!a) return {};
  return versions_in({a->number, a->start, -1}, address - a->start, now, bytes, nullptr);
}

std::vector<EarlierVersion> versions_of(const VersionedPlace& place, const std::vector<char>& now,
                                        const std::function<bool(std::size_t)>& taken) {
  if (!g_keeps_versions) return {};
  return versions_in({place.number, place.start, -1}, place.offset, now.data(), now.size(), taken);
}

std::string version_stats() {
  std::string text = g_unkept ? ",\"unkept\":1" : "";
  for (const unsigned moment : g_moments) {
    if (!g_unkept) text += format(",\"version_%u\":1", moment);
  }
  return text;
}

}  // namespace warploom
