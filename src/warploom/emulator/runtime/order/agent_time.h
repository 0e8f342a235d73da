// What a clock knows of one agent: all that it did up to a time, and parts of the kernel that it
// runs next, by block and thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/shared_tree.h"

namespace warploom {

using AgentId = uint32_t;
using OpId = uint32_t;  // index into the table of operations; 0 is "none"

// What is known of one block of a running kernel.
struct BlockTime {
  uint32_t references = 0;
  uint32_t block = 0;
  uint32_t all = 0;                                      // accesses of all threads before this
  ShortVector<std::pair<uint16_t, uint32_t>> threads{};  // and of single threads up to this, sorted

  bool covers(uint16_t thread, uint32_t time) const;
};

// What is known of the operation of an agent that has not ended.
struct RunningOp {
  uint32_t references = 0;
  OpId op = 0;
  ShortVector<Ref<BlockTime>> blocks{};  // sorted

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

constexpr unsigned kAgentBits = 4;
constexpr uint32_t kAgentsInLeaf = 1u << kAgentBits;

// What is known of some agents: the time that each one has reached, and its running operation with
// the time when that has ended. As an agent does one thing after the other, there is nothing to
// know of earlier or later operations. Times lie side by side, because most joins only compare
// them.
struct AgentLeaf {
  uint32_t time[kAgentsInLeaf] = {}, ends[kAgentsInLeaf] = {};
  Ref<RunningOp> running[kAgentsInLeaf]{};

  void advance(AgentId agent, uint32_t to);
  void add(const KnownThread& known);
  // One covers another for certain that has nothing beyond its `least`.
  uint32_t least() const;
  uint32_t most() const;
  bool covers(const AgentLeaf& other) const;
  void join(const AgentLeaf& other);

 private:
  bool covers(uint32_t at, const AgentLeaf& other) const;
  void join(uint32_t at, const AgentLeaf& other);
  void forget_outdated(uint32_t at);
};

class AgentTimes : public SharedTree<AgentLeaf, kAgentBits> {
 public:
  uint32_t time_of(AgentId agent) const {
    const AgentLeaf* leaf = find(agent);
    return leaf ? leaf->time[agent % kAgentsInLeaf] : 0;
  }
  const RunningOp* running_of(AgentId agent) const {  // nullptr: nothing is known of one
    const AgentLeaf* leaf = find(agent);
    return leaf ? leaf->running[agent % kAgentsInLeaf].get() : nullptr;
  }
  void advance(AgentId agent, uint32_t to) { change(agent).advance(agent, to); }
  void add(const KnownThread& known) { change(known.agent).add(known); }
};

}  // namespace warploom
