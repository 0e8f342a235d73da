// What each rank did last, for the findings of a replayed run. Switched off, it costs one test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../include/warploom/types.h"
#include "schedule/fiber.h"

namespace warploom {

extern bool g_tracing;

struct TraceEvent {
  uint64_t sequence = 0;
  int rank = 0;
  const char* kernel = nullptr;  // must outlive the run
  bool in_block = false;         // `block` and `thread` say who it was
  uint3 block{}, thread{};
  Frames where;
  std::string text;
  // The same again, at once and at the same place, is no event of its own.
  unsigned times = 1;
  bool several_threads = false;  // of one block; `thread` is the first
};

void start_trace(std::size_t events);  // kept for each rank; 0: off
// By the running fiber, here or at the place `where`.
void record_event(std::string text);
void record_event_at(const Frames& where, std::string text);
// By the network or a stream, on behalf of `rank`.
void record_event_of(int rank, const char* kernel, const Frames& where, std::string text);

// The same, with the words made only when somebody wants them.
template <class Text>
void trace(Text&& text) {
  if (g_tracing) [[unlikely]] {
    record_event(text());
  }
}
template <class Text>
void trace_of(int rank, const char* kernel, const Frames& where, Text&& text) {
  if (g_tracing) [[unlikely]] {
    record_event_of(rank, kernel, where, text());
  }
}

enum class WaitStep { Begins, Ends, WasOver };
void trace_wait(const WaitReason& reason, WaitStep step);

// Whom a finding is about.
struct Involved {
  std::optional<int> rank, other_rank;
  bool everyone = false;
  Frames other;  // place of the second party
};
// The last events of those ranks, oldest first, with what happened at the second place.
std::vector<const TraceEvent*> events_before(const Involved& involved);

}  // namespace warploom
