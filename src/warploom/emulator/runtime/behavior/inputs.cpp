#include "behavior/inputs.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "behavior/carried.h"
#include "behavior/input_words.h"
#include "behavior/iterations.h"
#include "behavior/spoil.h"
#include "behavior/turned_inputs.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/sides.h"

namespace warploom {

namespace {

constexpr std::size_t kLeastResults = 256;  // bytes of a process; fewer are handles and counts
constexpr std::size_t kMostWords = 1024;

bool g_results_came = false;  // results have come to a host: nothing is an input any more
std::unordered_set<const Process*> g_inputs_ended;  // processes whose inputs have ended
std::set<int> g_results_of;                         // ranks that results have come to
std::vector<int> g_whose;                           // whose inputs change; empty: none
unsigned g_every = 0;                               // 0: the words are given
std::unordered_set<uint64_t> g_words;
std::set<uint64_t> g_altered;

bool changes(uint64_t word) {
  if (g_every == 0) return g_words.contains(word);
  if (!is_telling(word, g_every)) return false;
  return g_words.size() < kMostWords ? g_words.insert(word).first != g_words.end()
                                     : g_words.contains(word);
}

void alter(char* start, std::size_t bytes) {
  const unsigned width = word_bytes();
  for (std::size_t at = 0; at + width <= bytes; at += width) {
    uint64_t word = 0;
    std::memcpy(&word, start + at, width);
    if (!changes(word)) continue;
    g_altered.insert(word);
    word = other_word(word);
    std::memcpy(start + at, &word, width);
  }
}

}  // namespace

bool g_varying = false;

bool configure_inputs(const std::string& value) {
  const std::size_t split = value.find_first_of("/=");
  if (split == std::string::npos) return false;
  for (std::size_t at = 0; at < split;) {
    g_whose.push_back(std::atoi(value.c_str() + at));
    at = std::min(value.find(',', at), split) + 1;
  }
  if (value[split] == '/') {
    g_every = static_cast<unsigned>(std::atoi(value.c_str() + split + 1));
    return g_every > 0;
  }
  for (const uint64_t word : words_listed(value, split + 1)) g_words.insert(word);
  return true;
}

bool configure_vary(const std::string& value) { return g_varying = configure_varying(value); }

void note_upload(void* p, std::size_t bytes, int device, bool input, bool early) {
  if (g_varying && early) vary_numbers(static_cast<char*>(p), bytes, device);
  if (g_results_came || !input) {
    note_turned_upload(p, bytes, false);
    if (is_carrying()) note_carried_upload(p, bytes);
    return;
  }
  if (std::ranges::find(g_whose, device) != g_whose.end()) {
    alter(static_cast<char*>(p), bytes);
  }
  note_turned_upload(p, bytes, true);
  if (g_poisoning) note_input(p, bytes);
}

void note_set(void* p, std::size_t bytes, int byte, int device, bool early) {
  if (g_varying && early) {
    vary_set(static_cast<char*>(p), bytes, static_cast<unsigned char>(byte), device);
  }
  if (g_poisoning && no_inputs_ended()) note_input(p, bytes);
}

void note_filled(void* p, std::size_t bytes, int device, bool early) {
  if (early) vary_numbers(static_cast<char*>(p), bytes, device);
}

void note_launch(int device) {
  // Few others are equal to the words that are given, so that it does not matter where they lie.
  const bool alone = g_config.processes == 0;  // the process drives this device only
  if (!inputs_are_open() || g_every || !alone ||
      std::ranges::find(g_whose, device) == g_whose.end()) {
    return;
  }
  static std::set<const Process*> looked_at;  // inputs are there before the first launch
  if (!looked_at.insert(&current_process()).second) return;
  for (const Allocation* allocation : live_allocations()) {
    if (allocation->device >= 0 || !allocation->is_of(*g_current)) continue;
    alter(reinterpret_cast<char*>(allocation->start), allocation->bytes);
  }
}

void note_results(std::size_t bytes, int rank) {
  static std::map<int, std::size_t> results;
  if ((results[rank] += bytes) < kLeastResults) return;
  g_results_came = true;
  g_results_of.insert(rank);
}

bool passes_results_on(std::size_t bytes) {
  static std::size_t passed = 0;
  return !inputs_are_open() && (passed += bytes) >= kLeastResults;
}

void end_inputs() { g_inputs_ended.insert(&current_process()); }

bool inputs_are_open() {
  if (g_results_came) return false;
  return !g_current || !g_inputs_ended.contains(&current_process());
}

bool no_results_yet() {
  // What others have got depends on the schedule, where processes do not wait for each other.
  const bool alone = g_config.processes == 0 && !g_config.single_process && g_current;
  return alone ? !g_results_of.contains(current_process().rank) : !g_results_came;
}

bool no_inputs_ended() { return !g_results_came && g_inputs_ended.empty(); }

void report_inputs() {
  report_turned();
  if (!g_whose.empty()) report_words(g_altered);
}

}  // namespace warploom
