#include "behavior/turned_arrays.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix_bits.h"
#include "behavior/input_words.h"

namespace warploom {

namespace {

constexpr std::size_t kLeastArray = 64, kMostArray = std::size_t{1} << 20, kMostArrays = 64;
constexpr std::size_t kArrayStep = 32;      // four parts of whole pairs of words
constexpr uint32_t kMostInteger = 1 << 22;  // addresses and numbers have words beyond it
constexpr std::size_t kStates = 4, kHead = 8;
constexpr std::size_t kHeadSketch = std::size_t{1} << 16;

// What the array is after a turn by so many quarters.
using ArrayStates = std::array<std::string, kStates>;

bool g_turns_arrays = false;
std::set<uint64_t> g_listed;  // digests; none: all
std::map<uint64_t, ArrayStates> g_arrays;
unsigned g_array_state = 0, g_arrays_seen = 0;
// The states by how they begin, and a sketch of that: most words of memory begin none.
std::unordered_map<uint64_t, std::vector<std::pair<const ArrayStates*, std::size_t>>> g_heads;
std::bitset<kHeadSketch> g_head_sketch;

uint64_t head_of(const char* at) {
  uint64_t head = 0;
  std::memcpy(&head, at, kHead);
  return head;
}

std::size_t place_in_sketch(uint64_t head) { return mix_bits(head) % kHeadSketch; }

bool holds_integers(const char* start, std::size_t bytes) {
  if (bytes < kLeastArray || bytes > kMostArray || bytes % kArrayStep) return false;
  for (std::size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, start + at, sizeof word);
    if (word >= kMostInteger && word != ~uint32_t{0}) return false;
  }
  return true;
}

uint64_t digest_of(const char* start, std::size_t bytes) {
  uint64_t digest = bytes;
  for (std::size_t at = 0; at < bytes; at += kHead) digest = mix_bits(digest ^ head_of(start + at));
  return digest;
}

ArrayStates states_of(const char* start, std::size_t bytes) {
  ArrayStates states;
  for (std::size_t i = 0; i < kStates; i++) {
    states[i].assign(start, bytes);
    std::ranges::rotate(states[i], states[i].begin() + static_cast<long>(bytes / kStates * i));
  }
  return states;
}

// Else it would not be seen whether the array has turned.
bool are_different(const ArrayStates& states) {
  return std::set<std::string_view>(states.begin(), states.end()).size() == kStates;
}

// The array that begins here, as a whole, and in which state; null: none does.
const ArrayStates* array_at(const char* at, std::size_t bytes, std::size_t& state) {
  const uint64_t head = head_of(at);
  if (!g_head_sketch[place_in_sketch(head)]) return nullptr;
  const auto found = g_heads.find(head);
  if (found == g_heads.end()) return nullptr;
  for (const auto& [states, number] : found->second) {
    const std::string& one = (*states)[number];
    if (one.size() > bytes || std::memcmp(at, one.data(), one.size())) continue;
    state = number;
    return states;
  }
  return nullptr;
}

}  // namespace

void configure_turned_arrays(const std::string& digests) {
  g_turns_arrays = true;
  for (const uint64_t digest : words_listed(digests, 0)) g_listed.insert(digest);
}

void note_array(const char* start, std::size_t bytes) {
  if (!holds_integers(start, bytes)) return;
  g_arrays_seen++;
  if (!g_turns_arrays || g_arrays.size() >= kMostArrays) return;
  const uint64_t digest = digest_of(start, bytes);
  if ((!g_listed.empty() && !g_listed.contains(digest)) || g_arrays.contains(digest)) return;
  ArrayStates states = states_of(start, bytes);
  if (!are_different(states)) return;
  const ArrayStates& kept = g_arrays[digest] = std::move(states);
  for (std::size_t i = 0; i < kStates; i++) {
    const uint64_t head = head_of(kept[i].data());
    g_heads[head].emplace_back(&kept, i);
    g_head_sketch.set(place_in_sketch(head));
  }
}

unsigned arrays_seen() { return g_arrays_seen; }

void next_arrays() { g_array_state = g_array_state % (kStates - 1) + 1; }

void turn_arrays(char* start, std::size_t bytes) {
  if (g_arrays.empty()) return;
  for (std::size_t at = 0; at + kHead <= bytes;) {
    std::size_t state = 0;
    const ArrayStates* states = array_at(start + at, bytes - at, state);
    if (!states) {
      at += sizeof(uint32_t);
      continue;
    }
    const std::string& next = (*states)[g_array_state];
    std::memcpy(start + at, next.data(), next.size());
    at += next.size();
  }
}

void report_arrays() {
  if (!g_turns_arrays) return;
  std::set<uint64_t> digests;
  for (const auto& [digest, states] : g_arrays) digests.insert(digest);
  report_words(digests);
}

}  // namespace warploom
