// Vector clocks for the happens-before check.
//
// An *agent* is a host thread or a stream; its time counts operations. A running kernel is one
// operation of its stream, and is refined per block and thread. A *channel* is the ordered flow of
// puts from one rank to one peer on one GIN context; it has two times per put: the source was read
// (flush covers it) and the destination was written (a signal or barrier covers it). A clock holds
// of puts only what was seen at first hand; see completions.h for what others know of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "order/agent_time.h"

namespace warploom {

using ChannelId = uint32_t;  // index into the table of channels

struct Puts {
  uint32_t references = 0;
  ShortVector<uint32_t> numbers{};  // sorted
};

struct ChannelTime {
  ChannelId channel = 0;
  uint32_t landed = 0;  // all puts up to this one have landed
  uint32_t read = 0;    // all puts up to this one have read their source
  Ref<Puts> single{};   // further puts that have landed (weak signals)
};

using ChannelTimes = ShortVector<ChannelTime>;

struct SeenPuts {
  uint32_t references = 0;
  ChannelTimes channels{};  // sorted
};

// At most N values, in place.
template <class T, std::size_t N>
class Few {
 public:
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }
  std::size_t size() const { return size_; }
  T& add(T value) { return values_[size_++] = std::move(value); }
  void resize_down(std::size_t size) {
    while (size_ > size) values_[--size_] = {};
  }
  template <class Condition>
  void erase_if(Condition&& condition) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; i++) {
      if (condition(std::as_const(values_[i]))) continue;
      if (kept != i) values_[kept] = std::move(values_[i]);
      kept++;
    }
    resize_down(kept);
  }

 private:
  std::array<T, N> values_{};
  std::size_t size_ = 0;
};

// That `block` of a kernel has got to the interval `all`; with `all` 0, that the kernel has begun.
struct Stage {
  OpId op = 0;  // 0: none
  uint32_t block = 0;
  uint32_t all = 0;
  bool operator==(const Stage&) const = default;
};

// Times that many clocks share as they are. Who knows of the stage knows all of them.
struct ClockPart {
  AgentTimes times{};
  Stage stage{};
  AgentId agent = 0;     // of the stage's operation
  uint32_t time = 0;     // that the agent has once it has ended
  uint64_t reached = 0;  // counts stages: what was made before knows nothing of this one
  void set_stage(const Stage& to);
};

constexpr std::size_t kParts = 4;

// What is known is what any of the parts or threads tells. So a message takes the parts of its
// sender along as they are, and a join that need not look into them costs next to nothing.
struct ClockData {
  uint32_t references = 0;
  Few<ClockPart, kParts> parts{};
  Few<KnownThread, 4> threads{};
  Ref<SeenPuts> seen{};
};

// An immutable value: copying is cheap, `join` makes a new one where something is added.
class Clock {
 public:
  bool empty() const { return !data_; }
  void join(const Clock& other);
  // The same with many, in one go; then settles.
  void join_all(const std::vector<const Clock*>& others, const Stage& stage);
  void advance(AgentId agent, uint32_t time);
  void advance_block(OpId op, uint32_t block, uint32_t all, uint16_t thread, uint32_t thread_time);
  void channel_landed(ChannelId channel, uint32_t upto);
  void channel_landed_single(ChannelId channel, uint32_t sequence);
  void channel_read(ChannelId channel, uint32_t upto);
  // Makes one part of all but what it knows of the stage's own block: much will be asked of it. It
  // must hold nothing that somebody who knows of the stage does not know.
  void settle(const Stage& stage = {});

  uint32_t agent_time(AgentId agent) const {
    uint32_t time = 0;
    if (!data_) return time;
    for (const ClockPart& part : data_->parts) {
      time = std::max(time, part.times.time_of(agent));
    }
    for (const KnownThread& known : data_->threads) {
      if (known.agent == agent && known.time > time + 1) time = known.time - 1;
    }
    return time;
  }
  bool covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const;
  // Is anything known of this block of an operation that has not ended?
  bool knows_block(OpId op, uint32_t block) const;
  // Is anything known of other blocks of this operation, which has not ended?
  bool knows_other_blocks(OpId op, uint32_t block) const;

  // The puts that were seen at first hand.
  const ChannelTimes& seen_puts() const;
  const ChannelTime* seen_of(ChannelId channel) const;  // nullptr: none
  void forget_puts();

 private:
  bool knows(const Stage& stage, AgentId agent, uint32_t time, uint64_t reached) const;
  bool has(const ClockPart& part) const;
  bool has(const KnownThread& thread) const;
  unsigned parts_known_of(const ClockData& other) const;
  bool has_threads_of(const ClockData& other) const;
  void take_over(const Clock& from, unsigned known, unsigned outdated);
  Ref<ClockData> data_;
};

bool has_landed(const ChannelTime& known, uint32_t put);
void add_landed(ChannelTime& known, uint32_t upto);
void add_landed_single(ChannelTime& known, uint32_t put);

}  // namespace warploom
