// Memory becomes what it was at moments before: see versions.h.
#include <algorithm>
#include <cstdlib>

#include "behavior/spoil.h"
#include "behavior/versions.h"
#include "behavior/versions_kept.h"
#include "memory/memory.h"

namespace warploom {

namespace {

// See configure_take_back.
struct TakeBack {
  bool keeps_control = false, done = false;
  unsigned end = 0;
  std::vector<unsigned> moments;
};
TakeBack g_back;
constexpr std::size_t kMostControl = 1024;          // bytes of each device
std::unordered_map<uintptr_t, uint64_t> g_control;  // bits of 64 bytes
std::map<int, std::size_t> g_control_bytes;         // by device

constexpr std::size_t kTakenPiece = 16;  // bytes that are of one moment: no number is torn

bool is_control(uintptr_t address) {
  const auto known = g_control.find(address / kBits);
  return known != g_control.end() && known->second >> address % kBits & 1;
}

// Was it stored between any two of the moments, as far as is known?
bool is_work(const std::vector<const PageVersion*>& all, std::size_t at) {
  return std::ranges::any_of(all, [at](const PageVersion* version) {
    return version && !version->unwatched && was_stored(version, at);
  });
}

// Each piece gets what it held at one of the moments, but the last. What nobody stored before that
// moment, and somebody did before another one, was left from earlier: it gets something else.
void take_back_page(uintptr_t start, std::size_t bytes,
                    const std::vector<const PageVersion*>& all) {
  for (std::size_t piece = 0; piece < bytes; piece += kTakenPiece) {
    const PageVersion* chosen = all[drawn_by_key(start + piece) % (all.size() - 1)];
    for (std::size_t at = piece; at < std::min(bytes, piece + kTakenPiece); at++) {
      char value = byte_of(chosen, at);
      if (!was_stored(chosen, at) && is_work(all, at)) value = static_cast<char>(value ^ 1);
      auto* byte = reinterpret_cast<char*>(start + at);
      if (*byte != value && !is_control(start + at)) *byte = value;
    }
  }
}

void take_back_range(const HeldKey& key, uintptr_t start, std::size_t bytes,
                     const std::vector<unsigned>& moments) {
  const auto held = g_held.find(key);
  if (held == g_held.end()) return;
  for (const auto& [page, versions] : held->second.pages) {
    const std::size_t at = page * kVersionPage;
    std::vector<const PageVersion*> all;
    for (const unsigned m : moments) {
      if (m >= held->second.since) all.push_back(version_at(held->second, page, m));
    }
    if (all.size() < 2 || at >= bytes) continue;
    take_back_page(start + at, std::min<std::size_t>(kVersionPage, bytes - at), all);
  }
}

}  // namespace

bool taking_back() { return g_back.end != 0; }
bool was_taken_back() { return g_back.done; }

bool configure_take_back(const std::string& text) {
  char* end = nullptr;
  g_back.keeps_control = std::strtoul(text.c_str(), &end, 10) != 0;
  if (*end != ':') return false;
  g_back.end = static_cast<unsigned>(std::strtoul(end + 1, &end, 10));
  while (*end == ':' || *end == ',') {
    g_back.moments.push_back(static_cast<unsigned>(std::strtoul(end + 1, &end, 10)));
  }
  return *end == 0 && !g_back.moments.empty();
}

void take_back(unsigned moment) {
  if (!keeps_versions() || g_back.moments.empty() || moment != g_back.end) return;
  std::vector<unsigned> moments;  // by their places among all
  if (g_moments.empty() || g_moments.back() != moment) return;
  for (unsigned i = 0; i + 1 < g_moments.size(); i++) {
    if (std::ranges::find(g_back.moments, g_moments[i]) != g_back.moments.end()) {
      moments.push_back(i);
    }
  }
  if (moments.empty()) return;
  moments.push_back(static_cast<unsigned>(g_moments.size()) - 1);
  for (const Allocation* a : live_allocations()) {
    if (a->kind == AllocKind::Pinned) continue;  // where hosts keep what is theirs
    take_back_range(key_of_line(a->number), a->start, a->bytes, moments);
  }
  for_each_variable([&](const HeldKey& key, uintptr_t start, std::size_t bytes) {
    take_back_range(key, start, bytes, moments);
  });
  g_back.done = true;
}

void note_version_strong(const void* p, std::size_t bytes) {
  if (!g_back.keeps_control) return;
  const auto start = reinterpret_cast<uintptr_t>(p);
  std::size_t& known = g_control_bytes[in_arena(p) ? device_of(p) : -1];
  for (uintptr_t at = start; at < start + bytes && known < kMostControl; at++) {
    if (is_control(at)) continue;
    g_control[at / kBits] |= uint64_t{1} << at % kBits;
    known++;
  }
}

}  // namespace warploom
