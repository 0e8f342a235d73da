#include "behavior/looks.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "order/host_copies.h"
#include "report/report.h"

namespace warploom {

bool g_looks_kept = false;

namespace {

// What is left of a read-back, in pieces.
struct UnreadPiece {
  uintptr_t end;
  std::size_t number;
};
std::map<uintptr_t, UnreadPiece> g_unread_pieces;  // by start; they do not overlap
std::map<std::size_t, std::size_t> g_unread;       // bytes left of each that nobody has read

auto first_unread_behind(uintptr_t start) {
  auto it = g_unread_pieces.upper_bound(start);
  if (it != g_unread_pieces.begin() && std::prev(it)->second.end > start) --it;
  return it;
}

void read_pieces(uintptr_t start, uintptr_t end) {
  for (auto it = first_unread_behind(start); it != g_unread_pieces.end() && it->first < end;) {
    g_unread.erase(it->second.number);
    it = g_unread_pieces.erase(it);
  }
}

void lose_unread(std::size_t number, std::size_t bytes) {
  const auto left = g_unread.find(number);
  if (left == g_unread.end() || (left->second -= bytes) > 0) return;
  g_unread.erase(left);
  report_unread(number);
}

void write_pieces(uintptr_t start, uintptr_t end) {
  for (auto it = first_unread_behind(start); it != g_unread_pieces.end() && it->first < end;) {
    const uintptr_t first = it->first;
    const UnreadPiece piece = it->second;
    it = g_unread_pieces.erase(it);
    if (first < start) g_unread_pieces[first] = {start, piece.number};
    if (end < piece.end) it = g_unread_pieces.emplace(end, piece).first;
    lose_unread(piece.number, std::min(end, piece.end) - std::max(start, first));
  }
}

}  // namespace

void keep_looks() {
  g_looks_kept = true;
  // The host's own memory is looked at from now on.
  g_host_copies++;
  update_host_watched();
}

void begin_look(std::size_t number, const void* target, std::size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(target);
  write_pieces(start, start + bytes);
  g_unread_pieces[start] = {start + bytes, number};
  g_unread[number] = bytes;
}

void host_looks_at(const void* p, std::size_t bytes, bool write) {
  const auto start = reinterpret_cast<uintptr_t>(p);
  write ? write_pieces(start, start + bytes) : read_pieces(start, start + bytes);
}

}  // namespace warploom
