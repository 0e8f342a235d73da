#include "behavior/carried.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "behavior/inputs.h"
#include "behavior/versions.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 30;  // bytes of memory as it was
constexpr std::size_t kSpan = 8;
constexpr uintptr_t kPage = 4096;
constexpr uintptr_t kLine = 64;  // bytes that one word of marks stands for

struct Range {
  uintptr_t start;
  std::size_t bytes;
};

// A page as it was; one that is the same word throughout, as fresh and cleared memory is, needs no
// room.
struct Page {
  uint32_t word = 0;
  std::unique_ptr<char[]> all;
};

class Kept {
 public:
  Kept() = default;
  explicit Kept(std::size_t bytes) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage) {}
  std::size_t bytes() const { return bytes_; }

  // Every page is this word.
  void fill(uint32_t word) {
    for (Page& page : pages_) page = {word, nullptr};
  }
  // All pages are as they are at `start` now; what that takes, or more than `most` if it is more.
  std::size_t take(const char* start, std::size_t most) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < pages_.size() && taken <= most; i++) {
      taken += take_page(i, start + i * kPage);
    }
    return taken;
  }
  void put(std::size_t at, const char* data, std::size_t bytes) {
    for (const std::size_t end = at + bytes; at < end;) {
      const std::size_t i = at / kPage, some = std::min(end, (i + 1) * kPage) - at;
      std::memcpy(opened(i) + at % kPage, data, some);
      data += some;
      at += some;
    }
  }
  // Calls `differs` for each piece that is not the same at `start`, with what it was.
  template <class Differs>
  void compare(char* start, Differs&& differs) const {
    std::array<char, kPage> room;
    for (std::size_t i = 0; i < pages_.size(); i++) {
      const std::size_t first = i * kPage, bytes = size_of(i);
      const char* known = pages_[i].all.get();
      if (known ? !std::memcmp(start + first, known, bytes)
                : is_word(start + first, bytes, pages_[i].word)) {
        continue;
      }
      if (!known) known = spread(pages_[i].word, room.data());
      for (std::size_t at = 0; at < bytes; at += kSpan) {
        const std::size_t size = std::min(kSpan, bytes - at);
        if (std::memcmp(start + first + at, known + at, size))
          differs(start + first + at, size, known + at);
      }
    }
  }

 private:
  static bool is_word(const char* start, std::size_t bytes, uint32_t word) {
    if (bytes < sizeof word) return !std::memcmp(start, &word, bytes);
    return !std::memcmp(start, &word, sizeof word) &&
           !std::memcmp(start, start + sizeof word, bytes - sizeof word);
  }
  static const char* spread(uint32_t word, char* page) {
    for (std::size_t at = 0; at < kPage; at += sizeof word) {
      std::memcpy(page + at, &word, sizeof word);
    }
    return page;
  }
  std::size_t size_of(std::size_t i) const { return std::min(kPage, bytes_ - i * kPage); }

  std::size_t take_page(std::size_t i, const char* start) {
    Page& page = pages_[i];
    std::memcpy(&page.word, start, std::min(sizeof page.word, size_of(i)));
    page.all.reset();
    if (is_word(start, size_of(i), page.word)) return 0;
    page.all = std::make_unique_for_overwrite<char[]>(kPage);
    std::memcpy(page.all.get(), start, size_of(i));
    return kPage;
  }
  char* opened(std::size_t i) {
    Page& page = pages_[i];
    if (!page.all) {
      page.all = std::make_unique_for_overwrite<char[]>(kPage);
      spread(page.word, page.all.get());
    }
    return page.all.get();
  }

  std::size_t bytes_ = 0;
  std::vector<Page> pages_;
};

std::map<uintptr_t, Kept> g_before;                                          // ranges as they were
std::unordered_map<uintptr_t, std::array<uint64_t, kPage / kLine>> g_marks;  // by page
std::map<int, unsigned long long> g_carried;   // bytes, by whose memory it is
std::map<int, unsigned long long> g_strong;    // of these, by atomics and volatile accesses
std::map<int, unsigned long long> g_constant;  // of these, never changed, in memory since freed
// What was carried, and as what: whether it changes later says what it is for.
struct CarriedLine {
  uint64_t bits = 0;
  std::array<char, kLine> value{};
};
std::map<uintptr_t, CarriedLine> g_carried_lines;
constexpr unsigned long long kControl = 1024;  // so many of the latter are left as they are
bool g_scramble = false, g_uncounted = false, g_delivered = false, g_watches_marks = false;

std::vector<Range> ranges() {
  std::vector<Range> found;
  for (const Allocation* a : live_allocations()) found.push_back({a->start, a->bytes});
  for (const Variable& v : all_variables()) found.push_back({v.start, v.bytes});
  return found;
}

int owner_of(const void* p) {
  if (space_of(p) == Space::Device) return device_of(p);
  const Variable* variable = find_variable(p);
  return variable ? variable->rank : -1;
}

// The marks of the bytes [start, end) of one line.
uint64_t bits_of(uintptr_t start, uintptr_t end) {
  const uint64_t all = end - start == kLine ? ~uint64_t{0} : (uint64_t{1} << (end - start)) - 1;
  return all << start % kLine;
}

// Calls `take` for each line of the range: its marks, the bits of the range, where it begins.
template <class Take>
void for_each_line(uintptr_t start, std::size_t bytes, Take&& take) {
  for (const uintptr_t end = start + bytes; start < end;) {
    const uintptr_t next = std::min(end, (start / kLine + 1) * kLine);
    const auto page = g_marks.find(start / kPage);
    if (page != g_marks.end()) {
      take(page->second[start % kPage / kLine], bits_of(start, next), start / kLine * kLine);
    }
    start = next;
  }
}

void mark(uintptr_t start, std::size_t bytes) {
  for (const uintptr_t end = start + bytes; start < end;) {
    const uintptr_t next = std::min(end, (start / kLine + 1) * kLine);
    g_marks[start / kPage][start % kPage / kLine] |= bits_of(start, next);
    start = next;
  }
}

void scramble(uintptr_t line, uint64_t bits) {
  for (; bits; bits &= bits - 1) {
    const uintptr_t at = line + static_cast<unsigned>(std::countr_zero(bits));
    *reinterpret_cast<unsigned char*>(at) ^= static_cast<unsigned char>(at * 0x9D + 0x53) | 1;
  }
}

void remember(uintptr_t line, uint64_t bits) {
  CarriedLine& known = g_carried_lines[line];
  for (; bits; bits &= bits - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(bits));
    known.bits |= uint64_t{1} << at;
    known.value[at] = *reinterpret_cast<const char*>(line + at);
  }
}

// Adds to `found` how many bytes of lines from `first` to `last` are as they were when carried.
void count_constant(uintptr_t first, uintptr_t last, std::map<int, unsigned long long>& found) {
  const auto begin = g_carried_lines.lower_bound(first / kLine * kLine);
  const auto end = g_carried_lines.lower_bound(last);
  for (auto it = begin; it != end; ++it) {
    for (uint64_t bits = it->second.bits; bits; bits &= bits - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(bits));
      const auto* p = reinterpret_cast<const char*>(it->first + at);
      const bool there = in_arena(p) || find_variable(p);
      if (there && *p == it->second.value[at]) found[owner_of(p)]++;
    }
  }
}

bool is_fresh(const char* p, std::size_t bytes) {
  for (std::size_t at = 0; at + 4 <= bytes; at += 4) {
    if (std::memcmp(p + at, &g_config.fresh_word, 4)) return false;
  }
  return true;
}

// Calls `change` for each piece that is not as it was kept, with what it was; null where none was.
template <class Change>
void for_each_changed(Change&& change) {
  for (const Range& range : ranges()) {
    const auto known = g_before.find(range.start);
    auto* start = reinterpret_cast<char*>(range.start);
    if (known != g_before.end() && known->second.bytes() == range.bytes) {
      known->second.compare(start, change);
      continue;
    }
    for (std::size_t at = 0; at < range.bytes; at += kSpan) {
      const std::size_t size = std::min(kSpan, range.bytes - at);
      if (!is_fresh(start + at, size)) change(start + at, size, nullptr);
    }
  }
}

}  // namespace

bool keep_memory() {
  std::size_t total = 0;
  for (const Range& range : ranges()) {
    Kept& kept = g_before[range.start] = Kept(range.bytes);
    total += kept.take(reinterpret_cast<const char*>(range.start), kMostKept - total);
    if (total > kMostKept) {
      g_before.clear();
      return false;
    }
  }
  return true;
}

void keep_upload(const void* p, std::size_t bytes, bool strict) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  for (const Range& range : ranges()) {
    if (address < range.start || address + bytes > range.start + range.bytes) continue;
    Kept& kept = g_before[range.start];
    if (kept.bytes() != range.bytes) {
      kept = Kept(range.bytes);
      if (strict) {
        kept.fill(g_config.fresh_word);
      } else {
        kept.take(reinterpret_cast<const char*>(range.start), ~std::size_t{0});
      }
    }
    kept.put(address - range.start, static_cast<const char*>(p), bytes);
    return;
  }
}

void for_each_change(const std::function<void(char*, std::size_t)>& change) {
  for_each_changed([&](char* p, std::size_t bytes, const char*) { change(p, bytes); });
}

void for_each_range(const std::function<void(char*, std::size_t)>& take) {
  for (const Range& range : ranges()) take(reinterpret_cast<char*>(range.start), range.bytes);
}

void scramble_carried() { g_scramble = true; }

void start_carrying() {
  g_marks.clear();
  // Byte by byte: the upper bytes of a counter, which nobody has raised so far, are no result.
  for_each_changed([](const char* p, std::size_t bytes, const char* before) {
    for (std::size_t at = 0; at < bytes;) {
      std::size_t end = at;
      while (end < bytes && p[end] != (before ? before[end] : 0)) end++;
      mark(reinterpret_cast<uintptr_t>(p + at), end - at);
      at = end + 1;
    }
  });
  g_watches_marks = true;
  change_flag(g_carrying, true);
  change_flag(g_watching, true);
}

bool is_carrying() { return g_watches_marks; }

void note_carried(const void* p, std::size_t bytes, bool reads, bool strong) {
  if (!reads) note_version_store(p, bytes);
  if (reads && g_uncounted) return;
  for_each_line(reinterpret_cast<uintptr_t>(p), bytes,
                [&](uint64_t& marks, uint64_t bits, uintptr_t line) {
                  // What the host stores where devices can read it, it brings along.
                  if (!reads && g_current && g_current->host && !g_delivered) {
                    marks |= bits;
                    return;
                  }
                  const uint64_t hit = marks & bits;
                  if (!hit) return;
                  marks &= ~hit;
                  if (!reads) return;
                  const int owner = owner_of(p);
                  const auto found = static_cast<unsigned>(std::popcount(hit));
                  remember(line, hit);
                  if (g_scramble && !(strong && g_strong[owner] < kControl)) scramble(line, hit);
                  g_carried[owner] += found;
                  if (strong) g_strong[owner] += found;
                });
}

bool note_carried_signal(int device) {
  static std::map<int, unsigned long long> counted;
  g_carried[device] += sizeof(uint64_t);
  if (!g_scramble) return false;
  return (counted[device] += sizeof(uint64_t)) > kControl;
}

void note_carried_upload(void* p, std::size_t bytes) {
  g_carried[owner_of(p)] += bytes;
  if (!g_scramble) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  for (uintptr_t at = start; at < start + bytes; at++) scramble(at, 1);
}

void end_carried(uintptr_t start, std::size_t bytes) {
  count_constant(start, start + bytes, g_constant);
  g_carried_lines.erase(g_carried_lines.lower_bound(start / kLine * kLine),
                        g_carried_lines.lower_bound(start + bytes));
}

std::string carried_stats() {
  std::string text = g_watches_marks ? ",\"carrying\":1" : "";
  for (const auto& [owner, bytes] : g_carried) {
    text += format(",\"carried_of_%d\":%llu", owner, bytes);
  }
  auto constant = g_constant;
  count_constant(0, ~uintptr_t{0}, constant);
  for (const auto& [owner, bytes] : constant) {
    text += format(",\"constant_of_%d\":%llu", owner, bytes);
  }
  return text;
}

Uncarried::Uncarried(bool applies) : before_(g_uncounted) { g_uncounted |= applies; }
Uncarried::~Uncarried() { g_uncounted = before_; }

Delivered::Delivered(bool applies) : before_(g_delivered) { g_delivered |= applies; }
Delivered::~Delivered() { g_delivered = before_; }

}  // namespace warploom
