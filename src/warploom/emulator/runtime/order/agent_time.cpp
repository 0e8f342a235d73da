#include "order/agent_time.h"

#include <algorithm>

namespace warploom {

namespace {

using ThreadTime = std::pair<uint16_t, uint32_t>;
using BlockTimes = ShortVector<Ref<BlockTime>>;

template <class Threads>
auto place_of_thread(Threads& threads, uint16_t thread) {
  return std::lower_bound(threads.begin(), threads.end(), thread,
                          [](const ThreadTime& entry, uint16_t t) { return entry.first < t; });
}

bool covers_block_time(const BlockTime& big, const BlockTime& small) {
  if (&big == &small) return true;
  if (big.all < small.all) return false;
  return std::all_of(small.threads.begin(), small.threads.end(), [&](const ThreadTime& entry) {
    return big.covers(entry.first, entry.second);
  });
}

void merge_block_time(BlockTime& into, const BlockTime& from) {
  if (into.all < from.all) {
    into.all = from.all;
    // What the whole block's bound covers need not be kept per thread.
    std::erase_if(into.threads, [&](const ThreadTime& entry) { return entry.second < into.all; });
  }
  for (const auto& [thread, time] : from.threads) {
    if (time < into.all) continue;
    const auto it = place_of_thread(into.threads, thread);
    if (it == into.threads.end() || it->first != thread) {
      into.threads.emplace(it, thread, time);
    } else {
      it->second = std::max(it->second, time);
    }
  }
}

template <class AnyBlockTimes>
auto place_of_block(AnyBlockTimes& blocks, uint32_t block) {
  return std::lower_bound(blocks.begin(), blocks.end(), block,
                          [](const auto& entry, uint32_t b) { return entry->block < b; });
}

bool covers_blocks(const RunningOp& big, const RunningOp& small) {
  if (small.blocks.size() > big.blocks.size()) return false;
  return std::all_of(small.blocks.begin(), small.blocks.end(), [&](const Ref<BlockTime>& entry) {
    const BlockTime* known = big.find(entry->block);
    return known && covers_block_time(*known, *entry);
  });
}

void merge_blocks(BlockTimes& into, const BlockTimes& from) {
  for (const Ref<BlockTime>& entry : from) {
    const auto it = place_of_block(into, entry->block);
    if (it == into.end() || (*it)->block != entry->block) {
      into.insert(it, entry);
    } else if (covers_block_time(*entry, **it)) {
      *it = entry;
    } else if (!covers_block_time(**it, *entry)) {
      merge_block_time(it->own(), *entry);
    }
  }
}

}  // namespace

bool BlockTime::covers(uint16_t thread, uint32_t time) const {
  if (time < all) return true;
  const auto it = place_of_thread(threads, thread);
  return it != threads.end() && it->first == thread && time <= it->second;
}

const BlockTime* RunningOp::find(uint32_t block) const {
  const auto it = place_of_block(blocks, block);
  return it != blocks.end() && (*it)->block == block ? it->get() : nullptr;
}

void AgentLeaf::forget_outdated(uint32_t at) {
  if (ends[at] > time[at]) return;
  ends[at] = 0;
  running[at] = {};
}

void AgentLeaf::advance(AgentId agent, uint32_t to) {
  const uint32_t at = agent % kAgentsInLeaf;
  time[at] = std::max(time[at], to);
  forget_outdated(at);
}

void AgentLeaf::add(const KnownThread& known) {
  const uint32_t at = known.agent % kAgentsInLeaf;
  if (time[at] >= known.time) return;
  time[at] = known.time - 1;  // a stream's operations come one after the other
  Ref<RunningOp>& op = running[at];
  if (!op || ends[at] != known.time) op = Ref<RunningOp>::make({.op = known.op});
  ends[at] = known.time;
  BlockTimes& blocks = op.own().blocks;
  BlockTime time{.block = known.block, .all = known.all, .threads = {}};
  if (known.upto >= known.all) time.threads.emplace_back(known.thread, known.upto);
  const auto it = place_of_block(blocks, known.block);
  if (it == blocks.end() || (*it)->block != known.block) {
    blocks.insert(it, Ref<BlockTime>::make(std::move(time)));
  } else {
    merge_block_time(it->own(), time);
  }
}

uint32_t AgentLeaf::least() const { return *std::ranges::min_element(time); }

uint32_t AgentLeaf::most() const {
  return std::max(*std::ranges::max_element(time), *std::ranges::max_element(ends));
}

bool AgentLeaf::covers(uint32_t at, const AgentLeaf& other) const {
  if (time[at] < other.time[at]) return false;
  if (time[at] >= other.ends[at] || running[at] == other.running[at]) return true;
  return ends[at] == other.ends[at] && covers_blocks(*running[at], *other.running[at]);
}

bool AgentLeaf::covers(const AgentLeaf& other) const {
  // Without a branch, and as wide as the times, so that the compiler takes several at once.
  uint32_t behind = 0, undecided = 0;
  for (uint32_t at = 0; at < kAgentsInLeaf; at++) {
    behind |= time[at] < other.time[at];
    undecided |= time[at] < other.ends[at];
  }
  if (behind || !undecided) return !behind;
  for (uint32_t at = 0; at < kAgentsInLeaf; at++) {
    if (!covers(at, other)) return false;
  }
  return true;
}

void AgentLeaf::join(uint32_t at, const AgentLeaf& other) {
  time[at] = std::max(time[at], other.time[at]);
  if (ends[at] < other.ends[at]) {
    ends[at] = other.ends[at];
    running[at] = other.running[at];
  } else if (other.running[at] && other.ends[at] == ends[at]) {
    merge_blocks(running[at].own().blocks, other.running[at]->blocks);
  }
  forget_outdated(at);
}

void AgentLeaf::join(const AgentLeaf& other) {
  for (uint32_t at = 0; at < kAgentsInLeaf; at++) {
    if (covers(at, other)) continue;
    if (other.covers(at, *this)) {
      time[at] = other.time[at];
      ends[at] = other.ends[at];
      running[at] = other.running[at];
    } else {
      join(at, other);
    }
  }
}

}  // namespace warploom
