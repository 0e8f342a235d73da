// Stores of one kernel that race: no defect if they store the same value, as many programs do with
// flags. That is known when the later store has been made.
#pragma once

#include <cstdint>
#include <string>

#include "order/history.h"
#include "order/race.h"

namespace warploom {

// Who accessed memory, for messages.
std::string describe(const Op& op, uint32_t block, uint16_t thread);

// How a race is told: where it happened and in which kernel, if that is not where we are now.
struct RaceView {
  Frames where{};
  int rank = 0;
  const char* kernel = nullptr;
  bool harmless = false;  // a warning
  // Both are atomic, but do not exclude each other: their scopes are too narrow, or they take other
  // bytes as one.
  bool atomic = false, divided = false;
};
void report_race(const Record& record, bool before_writes, const Actor& actor, bool now_writes,
                 const void* p, const RaceView& view = {});

extern bool g_stores_pending;
// The running GPU thread is about to store at `p` (its history's address, `distance` bytes before
// the memory), which nothing orders after `before`.
void remember_store(const Record& before, const Actor& actor, unsigned mask, const void* p,
                    uintptr_t distance);

}  // namespace warploom
