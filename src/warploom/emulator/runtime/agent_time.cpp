#include "agent_time.h"

#include <algorithm>

namespace warploom {

namespace {

using ThreadTime = std::pair<uint16_t, uint32_t>;
using BlockTimes = std::vector<Ref<BlockTime>>;

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

void AgentTime::forget_outdated() {
  if (ends > time) return;
  ends = 0;
  running = {};
}

void AgentTime::advance(uint32_t to) {
  time = std::max(time, to);
  forget_outdated();
}

void AgentTime::add(const KnownThread& known) {
  if (time >= known.time) return;
  time = known.time - 1;  // a stream's operations come one after the other
  if (!running || ends != known.time) running = Ref(new RunningOp{.op = known.op});
  ends = known.time;
  BlockTimes& blocks = running.own().blocks;
  auto it = place_of_block(blocks, known.block);
  if (it == blocks.end() || (*it)->block != known.block) {
    it = blocks.insert(it, Ref(new BlockTime{.block = known.block}));
  }
  merge_block_time(it->own(), {.all = known.all, .threads = {{known.thread, known.upto}}});
}

bool AgentRule::covers(const AgentTime& big, const AgentTime& small) {
  if (big.time < small.time) return false;
  if (small.running == big.running || big.time >= small.ends) return true;
  return big.ends == small.ends && covers_blocks(*big.running, *small.running);
}

void AgentRule::merge(AgentTime& into, const AgentTime& from) {
  into.time = std::max(into.time, from.time);
  if (into.ends < from.ends) {
    into.ends = from.ends;
    into.running = from.running;
  } else if (from.running && from.ends == into.ends) {
    merge_blocks(into.running.own().blocks, from.running->blocks);
  }
  into.forget_outdated();
}

}  // namespace warploom
