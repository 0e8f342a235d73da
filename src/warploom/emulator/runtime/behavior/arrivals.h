// Results that MPI brings from memory of devices to memory of the host, for the report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schedule/fiber.h"

namespace warploom {

// A call of MPI that brings data to a process: whose thread makes it, as the how-manieth of its
// operations, and of what type the data is.
struct Arrival {
  int rank = 0, thread = 0;
  uint64_t order = 0;
  const char* call = "";
  const char* elements = "";
  std::optional<int> source{};  // who sent it, where the call takes a message of any rank
  Frames where{};
};
// It has brought `bytes`, which lie at `data` now.
void report_arrival(const Arrival& arrival, const void* data, std::size_t bytes);

}  // namespace warploom
