// What decides how a run is judged. It lies in a page of its own, which is read-only while code of
// the program runs: no library that is led astray can change it.
#pragma once

namespace warploom {

struct alignas(4096) Flags {
  bool watching = false, carrying = false, poisoning = false, spoiling = false, timed = false;
  bool closed = false;
  int findings = 0;  // reported so far
};
extern Flags g_flags;

// Is each access looked at closely: for races, or to model time?
inline constexpr const bool& g_watching = g_flags.watching;
inline constexpr const bool& g_carrying = g_flags.carrying;    // carried.h
inline constexpr const bool& g_poisoning = g_flags.poisoning;  // iterations.h
inline constexpr const bool& g_spoiling = g_flags.spoiling;    // spoil.h
inline constexpr const bool& g_timed = g_flags.timed;  // timing.h: false: none of it is called

void change_flag(const bool& flag, bool value);
void count_finding();
// A program is about to run: from here on the page is open in these two alone, and the prices of
// the modelled machine are not changed any more.
void close_flags();

}  // namespace warploom
