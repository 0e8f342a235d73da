// What a clock knows of one agent: all that it did up to a time, and parts of the kernel that it
// runs next, by block and thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "shared_tree.h"

namespace warploom {

using AgentId = uint32_t;
using OpId = uint32_t;  // index into the table of operations; 0 is "none"

// What is known of one block of a running kernel.
struct BlockTime {
  uint32_t references = 0;
  uint32_t block = 0;
  uint32_t all = 0;                                      // accesses of all threads before this
  std::vector<std::pair<uint16_t, uint32_t>> threads{};  // and of single threads up to this, sorted

  bool covers(uint16_t thread, uint32_t time) const;
};

// What is known of the operation of an agent that has not ended.
struct RunningOp {
  uint32_t references = 0;
  OpId op = 0;
  std::vector<Ref<BlockTime>> blocks{};  // sorted

  const BlockTime* find(uint32_t block) const;  // nullptr: nothing is known of it
};

// What is known of one thread of a running kernel, and of its block.
struct KnownThread {
  OpId op = 0;
  AgentId agent = 0;
  uint32_t time = 0;  // that the agent has once the kernel has ended
  uint32_t block = 0;
  uint32_t all = 0;   // accesses of all threads of the block before this
  uint32_t upto = 0;  // and of the thread up to this
  uint16_t thread = 0;
};

// As an agent does one thing after the other, there is nothing to know of earlier or later
// operations than the running one.
struct AgentTime {
  uint32_t time = 0;
  uint32_t ends = 0;  // the time when the running one has ended
  Ref<RunningOp> running{};
  bool operator==(const AgentTime&) const = default;

  void advance(uint32_t to);
  void add(const KnownThread& known);
  void forget_outdated();
};

struct AgentRule {
  static bool covers(const AgentTime& big, const AgentTime& small);
  static void merge(AgentTime& into, const AgentTime& from);
};

using AgentTimes = SharedTree<AgentTime, 4>;

}  // namespace warploom
