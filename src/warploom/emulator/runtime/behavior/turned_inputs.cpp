#include "behavior/turned_inputs.h"

#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unordered_map>

#include "behavior/carried.h"
#include "behavior/input_words.h"
#include "behavior/spoil.h"
#include "behavior/turned_arrays.h"

namespace warploom {

namespace {

constexpr std::size_t kMostTurned = 2048;
constexpr std::size_t kSketch = std::size_t{1} << 16;

bool g_turning = false, g_before_stops = false;
unsigned g_turned_every = 0;  // 0: the words are given
unsigned g_round = 0;         // how often they have turned
std::set<uint64_t> g_chosen;  // as they are uploaded
// What each word is now, by all that it has been: a copy of an earlier value turns as well.
std::unordered_map<uint64_t, uint64_t> g_now;
std::bitset<kSketch> g_sketch;  // of its keys: most words of memory are none of these

std::size_t place_of(uint64_t word) { return word * 0x9E3779B97F4A7C15 >> 48; }

void turn_words(char* start, std::size_t bytes) {
  if (g_now.empty()) return;
  const unsigned width = word_bytes();
  for (std::size_t at = 0; at + width <= bytes; at += width) {
    uint64_t word = 0;
    std::memcpy(&word, start + at, width);
    if (!g_sketch[place_of(word)]) continue;
    const auto found = g_now.find(word);
    if (found == g_now.end() || word_in_address(start, at, bytes)) continue;
    std::memcpy(start + at, &found->second, width);
  }
}

void turn(char* start, std::size_t bytes) {
  turn_words(start, bytes);
  turn_arrays(start, bytes);
}

}  // namespace

bool configure_turns(const std::string& text) {
  g_turning = true;
  g_before_stops = text.starts_with('+');
  const std::string value = text.substr(g_before_stops);
  if (value.starts_with('~')) {
    configure_turned_arrays(value.substr(1));
    return true;
  }
  if (value.starts_with('/')) {
    g_turned_every = static_cast<unsigned>(std::atoi(value.c_str() + 1));
    return g_turned_every > 0;
  }
  if (!value.starts_with('=')) return false;
  for (const uint64_t word : words_listed(value, 1)) g_chosen.insert(word);
  return true;
}

void note_turned_upload(void* p, std::size_t bytes, bool input) {
  if (!g_turning) return;
  if (g_round > 0) {
    turn(static_cast<char*>(p), bytes);
    return;
  }
  if (input) note_array(static_cast<const char*>(p), bytes);
  if (!input || g_turned_every == 0) return;
  const unsigned width = word_bytes();
  for (std::size_t at = 0; at + width <= bytes && g_chosen.size() < kMostTurned; at += width) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(p) + at, width);
    const bool part = word_in_address(static_cast<const char*>(p), at, bytes);
    if (!part && is_telling(word, g_turned_every)) g_chosen.insert(word);
  }
}

void turn_inputs() {
  if (!g_turning) return;
  g_round++;
  for (const uint64_t word : g_chosen) {
    const uint64_t next = turned_word(word, g_round);
    for (unsigned round = 0; round < g_round; round++) {
      const uint64_t before = round ? turned_word(word, round) : word;
      g_now.insert_or_assign(before, next);
      g_sketch.set(place_of(before));
    }
  }
  next_arrays();
  for_each_range(turn);
}

void turn_inputs_before_stops() {
  if (g_before_stops) turn_inputs();
}

void report_turned() {
  if (g_turning && g_turned_every != 0) report_words(g_chosen);
  report_arrays();
}

}  // namespace warploom
