#include "behavior/versions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "behavior/spoil.h"
#include "behavior/versions_kept.h"
#include "machine/world.h"
#include "memory/lineage.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "report/report.h"

namespace warploom {

std::vector<unsigned> g_moments;
std::map<HeldKey, Held> g_held;

static HeldKey key_of_variable(const Variable& variable) {
  const bool one_each = g_config.single_process && !variable.managed;
  return {0, variable.start, one_each ? g_active_device : -1};
}

void for_each_variable(const ForPlace& act) {
  const auto variables = all_variables();
  if (variables.empty()) return;
  const int active = g_active_device;
  const std::size_t devices = g_config.single_process ? g_devices.size() : 1;
  for (std::size_t d = 0; d < devices; d++) {
    if (g_config.single_process) activate_device(static_cast<int>(d));
    for (const Variable& v : variables) {
      if (d == 0 || !v.managed) act(key_of_variable(v), v.start, v.bytes);
    }
  }
  if (g_config.single_process) activate_device(active);
}

HeldKey key_of_line(uint64_t number) { return {line_of(number), 0, -1}; }

// The version of a page that held at a moment; nullptr: it was fresh.
const PageVersion* version_at(const Held& held, std::size_t page, unsigned moment) {
  const auto known = held.pages.find(page);
  if (known == held.pages.end()) return nullptr;
  const auto& versions = known->second;
  const auto next = std::ranges::upper_bound(versions, moment, {}, &PageVersion::moment);
  return next == versions.begin() ? nullptr : &*std::prev(next);
}

char byte_of(const PageVersion* version, std::size_t at) {
  if (version && version->all) return version->all[at];
  return static_cast<char>((version ? version->word : g_config.fresh_word) >> 8 * (at % 4));
}

bool was_stored(const PageVersion* version, std::size_t at) {
  if (!version || version->unwatched) return version != nullptr;
  return version->stored && (*version->stored)[at / kBits] >> at % kBits & 1;
}

namespace {

constexpr unsigned kMostMoments = 64;  // of points, and of stops

// What a buffer held when it was freed, since the last moment.
struct LeftPage {
  std::vector<char> bytes;
  std::unique_ptr<StoredBits> stored;
};
struct Left {
  std::unordered_map<std::size_t, LeftPage> pages;  // those that are not fresh
};

bool g_keeps_versions = false, g_watches_stores = false, g_unkept = false;
std::size_t g_unwatched_moments = 0;  // the first ones: nobody watched stores before them
bool g_last_moment = false;           // has been
std::size_t g_most_versions = 0, g_version_bytes = 0, g_reported_bytes = 0;
std::unordered_map<uintptr_t, StoredBits> g_stored;  // since the last moment, by page
uintptr_t g_last_page = 0;                           // whose bits these are
StoredBits* g_last_stored = nullptr;
std::map<uint64_t, Left> g_left;        // by line
std::unordered_set<uint64_t> g_newest;  // lines whose memory was allocated since the last moment

void give_up() {
  g_unkept = true;
  g_keeps_versions = false;
  g_held.clear();
  g_left.clear();
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

void keep_page(std::vector<PageVersion>& versions, const char* start, std::size_t bytes,
               std::unique_ptr<StoredBits> stored) {
  const bool unwatched = !g_watches_stores;
  if (unwatched) stored = nullptr;
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

Held& hold(const HeldKey& key) {
  const auto [held, first] = g_held.try_emplace(key);
  if (first) held->second.since = static_cast<unsigned>(g_moments.size() - 1);
  return held->second;
}

void keep_range(const HeldKey& key, uintptr_t start, std::size_t bytes) {
  auto& pages = hold(key).pages;
  for (std::size_t at = 0; at < bytes && g_version_bytes <= g_most_versions; at += kVersionPage) {
    const std::size_t size = std::min<std::size_t>(kVersionPage, bytes - at), i = at / kVersionPage;
    const auto* page = reinterpret_cast<const char*>(start + at);
    if (!pages.contains(i) && all_word(page, size, g_config.fresh_word)) continue;
    keep_page(pages[i], page, size, stored_at(start + at, size));
  }
}

void keep_left(uint64_t line, Left& left) {
  auto& pages = hold({line, 0, -1}).pages;
  for (auto& [i, page] : left.pages) {
    keep_page(pages[i], page.bytes.data(), page.bytes.size(), std::move(page.stored));
  }
}

void keep_allocation(const Allocation& a) {
  const uint64_t line = line_of(a.number);
  const auto left = g_left.find(line);
  // The next repetition has allocated it already, and not used it yet.
  const bool unused =
      left != g_left.end() && g_newest.contains(line) &&
      all_word(reinterpret_cast<const char*>(a.start), a.bytes, g_config.fresh_word);
  if (unused) return;
  keep_range({line, 0, -1}, a.start, a.bytes);
  if (left != g_left.end()) g_left.erase(left);
}

// Who takes the time very often is looked at now and then: at which moments is nobody's choice.
bool is_kept(unsigned moment) {
  return moment / 2 <= kMostMoments || chosen_by_key(moment, moment / 2 / kMostMoments + 1);
}

// What it holds and which of that was stored, from `first` on, `bytes` bytes of one page.
void spread_version(const PageVersion* version, std::size_t first, std::size_t bytes, char* data,
                    std::size_t bit, std::vector<char>& stored) {
  for (std::size_t i = 0; i < bytes; i++) {
    data[i] = byte_of(version, first + i);
    if (was_stored(version, first + i)) {
      stored[(bit + i) / 8] |= static_cast<char>(1 << (bit + i) % 8);
    }
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
  if (!g_watches_stores) g_unwatched_moments++;
  for (const Allocation* a : live_allocations()) keep_allocation(*a);
  for (auto& [line, left] : g_left) keep_left(line, left);
  for_each_variable(keep_range);
  g_left.clear();
  g_newest.clear();
  g_stored.clear();
  g_last_stored = nullptr;
  if (g_version_bytes > g_most_versions) give_up();
}

void begin_versions(const Allocation& allocation) {
  if (!g_keeps_versions) return;
  begin_line(allocation);
  g_newest.insert(line_of(allocation.number));
}

void end_versions(const Allocation& a) {
  if (!g_keeps_versions) return;
  end_line(a);
  if (g_moments.empty() || g_last_moment) return;
  Left& left = g_left[line_of(a.number)];
  left.pages.clear();
  for (std::size_t at = 0; at < a.bytes; at += kVersionPage) {
    const std::size_t size = std::min<std::size_t>(kVersionPage, a.bytes - at);
    const auto* page = reinterpret_cast<const char*>(a.start + at);
    if (all_word(page, size, g_config.fresh_word)) continue;
    left.pages[at / kVersionPage] = {{page, page + size}, stored_at(a.start + at, size)};
  }
}

void end_moments() { g_last_moment = true; }

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
  if (!g_keeps_versions || taking_back()) return {};
  const auto address = reinterpret_cast<uintptr_t>(p);
  const auto* now = static_cast<const char*>(p);
  if (const Variable* variable = in_arena(p) ? nullptr : find_variable(p)) {
    return versions_in(key_of_variable(*variable), address - variable->start, now, bytes, nullptr);
  }
  const Allocation* a = in_arena(p) ? find_allocation(p) : nullptr;
  if (!a) return {};
  return versions_in(key_of_line(a->number), address - a->start, now, bytes, nullptr);
}

std::vector<EarlierVersion> versions_of(const VersionedPlace& place, const std::vector<char>& now,
                                        const std::function<bool(std::size_t)>& taken) {
  if (!g_keeps_versions || taking_back()) return {};
  const HeldKey key = place.number ? key_of_line(place.number) : HeldKey{0, place.start, -1};
  return versions_in(key, place.offset, now.data(), now.size(), taken);
}

std::string version_stats() {
  std::string text = g_unkept ? ",\"unkept\":1" : "";
  if (was_taken_back()) text += ",\"taken_back\":1";
  for (const unsigned moment : g_moments) {
    if (!g_unkept) text += format(",\"version_%u\":1", moment);
  }
  for (std::size_t i = 0; i < g_unwatched_moments; i++) {
    text += format(",\"unwatched_%u\":1", g_moments[i]);
  }
  return text;
}

}  // namespace warploom
