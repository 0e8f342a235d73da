#include "schedule/scheduler_idle.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/mix_bits.h"
#include "base/polling.h"
#include "schedule/fiber.h"

namespace warploom {

bool g_noting_places = false;

namespace {

// Rounds in which every polling thread re-read its memory and nothing changed. A loop with its own
// time-out may need many; a real deadlock never ends.
constexpr int kIdleRounds = 256;
// From here on it is noted which places they read.
constexpr int kRoundsUnseen = 32;
// A loop that waits reads few places. One that reads more may read all of them again and again.
constexpr uint32_t kPlacesOfWait = 16, kReadsOfPlace = 64;
constexpr std::size_t kMostPlaces = 1 << 20;

struct IdleRounds {
  int rounds = 0;  // in which nobody read a new place
  bool new_place = false;
  uint64_t reads = 0;                   // since somebody read a new place
  uint32_t most_places = 0;             // of one fiber
  std::unordered_set<uint64_t> places;  // of all fibers
  std::unordered_map<const Fiber*, uint32_t> places_of;
};
IdleRounds g_idle_rounds;

// May somebody go over the same data again?
bool reads_many(const IdleRounds& idle) {
  return idle.most_places > kPlacesOfWait && idle.reads < kReadsOfPlace * idle.places.size();
}

}  // namespace

bool may_look_again() {
  IdleRounds& idle = g_idle_rounds;
  if (std::exchange(idle.new_place, false)) return true;
  if (++idle.rounds == kRoundsUnseen) {
    g_noting_places = true;
    renew_budgets();
  }
  return idle.rounds < kIdleRounds || reads_many(idle);
}

void end_idle_rounds() {
  if (g_idle_rounds.rounds == 0) return;
  g_idle_rounds = {};
  if (!std::exchange(g_noting_places, false)) return;
  renew_budgets();
}

void note_place(const void* address) {
  IdleRounds& idle = g_idle_rounds;
  const auto place =
      reinterpret_cast<uintptr_t>(address) ^ mix_bits(reinterpret_cast<uintptr_t>(g_current));
  // Who has read so many goes on for long.
  if (idle.places.size() == kMostPlaces) {
    idle.places.clear();
    idle.places_of.clear();
  }
  idle.reads++;
  if (!idle.places.insert(place).second) return;
  idle.new_place = true;
  idle.reads = 0;
  idle.most_places = std::max(idle.most_places, ++idle.places_of[g_current]);
}

}  // namespace warploom
