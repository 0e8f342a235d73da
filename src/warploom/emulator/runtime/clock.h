// Vector clocks for the happens-before check.
//
// An *agent* is a host thread or a stream; its time counts operations. A running kernel is one
// operation of its stream, and is refined per block and thread. A *channel* is the ordered flow of
// puts from one rank to one peer on one GIN context; it has two times per put: the source was read
// (flush covers it) and the destination was written (a signal or barrier covers it).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace warploom {

using AgentId = uint32_t;
using OpId = uint32_t;       // index into the table of operations; 0 is "none"
using ChannelId = uint32_t;  // index into the table of channels

// What is known of one block of a running kernel.
struct BlockTime {
  OpId op;
  uint32_t block;
  uint32_t all = 0;                                      // accesses of all threads before this
  std::vector<std::pair<uint16_t, uint32_t>> threads{};  // and of single threads up to this
};

struct ChannelTime {
  ChannelId channel;
  uint32_t landed = 0;             // all puts up to this one have landed
  uint32_t read = 0;               // all puts up to this one have read their source
  std::vector<uint32_t> single{};  // further puts that have landed (weak signals), sorted
};

using Channels = std::vector<ChannelTime>;  // sorted by channel

struct ClockData {
  uint32_t references = 0;
  std::vector<uint32_t> agents;   // time of each agent, missing ones are 0
  std::vector<BlockTime> blocks;  // sorted by (op, block)
  // Shared among clocks: there may be many thousands, and most joins change none.
  std::shared_ptr<const Channels> channels;
};

// An immutable value: copying is cheap, `join` makes a new one where something is added.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& other);
  Clock(Clock&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Clock& operator=(Clock other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Clock();

  void join(const Clock& other);
  void advance(AgentId agent, uint32_t time);
  void advance_block(OpId op, uint32_t block, uint32_t all, uint16_t thread, uint32_t thread_time);
  void channel_landed(ChannelId channel, uint32_t upto);
  void channel_landed_single(ChannelId channel, uint32_t sequence);
  void channel_read(ChannelId channel, uint32_t upto);

  uint32_t agent_time(AgentId agent) const {
    return data_ && agent < data_->agents.size() ? data_->agents[agent] : 0;
  }
  bool knows_blocks() const { return data_ && !data_->blocks.empty(); }
  bool covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const;
  bool covers_landing(ChannelId channel, uint32_t sequence) const;
  bool covers_reading(ChannelId channel, uint32_t sequence) const;

 private:
  ClockData& writable();
  ClockData* data_ = nullptr;
};

}  // namespace warploom
