// Vector clocks for the happens-before check.
//
// An *agent* is a host thread or a stream; its time counts operations. A running kernel is one
// operation of its stream, and is refined per block and thread. A *channel* is the ordered flow of
// puts from one rank to one peer on one GIN context; it has two times per put: the source was read
// (flush covers it) and the destination was written (a signal or barrier covers it). A clock holds
// of puts only what was seen at first hand; see learnt.h for what others know of it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "shared_tree.h"

namespace warploom {

using AgentId = uint32_t;
using OpId = uint32_t;       // index into the table of operations; 0 is "none"
using ChannelId = uint32_t;  // index into the table of channels

// What is known of one block of a running kernel.
struct BlockTime {
  uint32_t references = 0;
  uint32_t block = 0;
  uint32_t all = 0;                                      // accesses of all threads before this
  std::vector<std::pair<uint16_t, uint32_t>> threads{};  // and of single threads up to this, sorted
};

// What is known of the operation of an agent that has not ended.
struct RunningOp {
  uint32_t references = 0;
  OpId op = 0;
  uint32_t time = 0;                     // that its agent has once it has ended
  std::vector<Ref<BlockTime>> blocks{};  // sorted
};

// What is known of an agent: all that it did up to a time, and parts of what it did next. As it
// does one thing after the other, there is nothing to know of earlier or later operations.
struct AgentTime {
  uint32_t time = 0;
  Ref<RunningOp> running{};
  bool operator==(const AgentTime&) const = default;
};

struct Puts {
  uint32_t references = 0;
  std::vector<uint32_t> numbers{};  // sorted
};

struct ChannelTime {
  ChannelId channel = 0;
  uint32_t landed = 0;  // all puts up to this one have landed
  uint32_t read = 0;    // all puts up to this one have read their source
  Ref<Puts> single{};   // further puts that have landed (weak signals)
};

struct SeenPuts {
  uint32_t references = 0;
  std::vector<ChannelTime> channels{};  // sorted
};

using AgentTimes = SharedTree<AgentTime, 4>;

struct ClockData {
  uint32_t references = 0;
  AgentTimes agents{};
  Ref<SeenPuts> seen{};
};

// An immutable value: copying is cheap, `join` makes a new one where something is added.
class Clock {
 public:
  void join(const Clock& other);
  void advance(AgentId agent, uint32_t time);
  void advance_block(OpId op, uint32_t block, uint32_t all, uint16_t thread, uint32_t thread_time);
  void channel_landed(ChannelId channel, uint32_t upto);
  void channel_landed_single(ChannelId channel, uint32_t sequence);
  void channel_read(ChannelId channel, uint32_t upto);

  uint32_t agent_time(AgentId agent) const {
    const AgentTime* known = data_ ? data_->agents.find(agent) : nullptr;
    return known ? known->time : 0;
  }
  bool covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const;
  // Is anything known of other blocks of this operation, which has not ended?
  bool knows_other_blocks(OpId op, uint32_t block) const;

  // The puts that were seen at first hand.
  const std::vector<ChannelTime>& seen_puts() const;
  const ChannelTime* seen_of(ChannelId channel) const;  // nullptr: none
  void forget_puts();

 private:
  const RunningOp* running(OpId op) const;
  Ref<ClockData> data_;
};

bool has_landed(const ChannelTime& known, uint32_t put);

}  // namespace warploom
