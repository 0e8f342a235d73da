#include "clock.h"

#include <algorithm>

#include "race.h"

namespace warploom {

namespace {

using ThreadTime = std::pair<uint16_t, uint32_t>;

// --- one block -----------------------------------------------------------------------------------

template <class Threads>
auto place_of_thread(Threads& threads, uint16_t thread) {
  return std::lower_bound(threads.begin(), threads.end(), thread,
                          [](const ThreadTime& entry, uint16_t t) { return entry.first < t; });
}

bool covers_thread(const BlockTime& known, uint16_t thread, uint32_t time) {
  if (time < known.all) return true;
  const auto it = place_of_thread(known.threads, thread);
  return it != known.threads.end() && it->first == thread && time <= it->second;
}

bool covers(const BlockTime& big, const BlockTime& small) {
  if (&big == &small) return true;
  if (big.all < small.all) return false;
  return std::all_of(small.threads.begin(), small.threads.end(), [&](const ThreadTime& entry) {
    return covers_thread(big, entry.first, entry.second);
  });
}

void merge(BlockTime& into, const BlockTime& from) {
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

// --- a running operation -------------------------------------------------------------------------

using BlockTimes = std::vector<Ref<BlockTime>>;

template <class AnyBlockTimes>
auto place_of_block(AnyBlockTimes& blocks, uint32_t block) {
  return std::lower_bound(blocks.begin(), blocks.end(), block,
                          [](const auto& entry, uint32_t b) { return entry->block < b; });
}

const BlockTime* find_block(const BlockTimes& blocks, uint32_t block) {
  const auto it = place_of_block(blocks, block);
  return it != blocks.end() && (*it)->block == block ? it->get() : nullptr;
}

bool covers_blocks(const BlockTimes& big, const BlockTimes& small) {
  if (small.size() > big.size()) return false;
  return std::all_of(small.begin(), small.end(), [&](const Ref<BlockTime>& entry) {
    const BlockTime* known = find_block(big, entry->block);
    return known && covers(*known, *entry);
  });
}

void merge(Ref<BlockTime>& into, const Ref<BlockTime>& from) {
  if (covers(*into, *from)) return;
  if (covers(*from, *into)) {
    into = from;
  } else {
    merge(into.own(), *from);
  }
}

void merge(BlockTimes& into, const BlockTimes& from) {
  for (const Ref<BlockTime>& entry : from) {
    const auto it = place_of_block(into, entry->block);
    if (it == into.end() || (*it)->block != entry->block) {
      into.insert(it, entry);
    } else {
      merge(*it, entry);
    }
  }
}

// --- an agent ------------------------------------------------------------------------------------

// Tells nothing that the time does not tell.
bool outdated(const AgentTime& entry) { return entry.running && entry.running->time <= entry.time; }

struct AgentRule {
  static bool covers(const AgentTime& big, const AgentTime& small) {
    if (big.time < small.time) return false;
    if (!small.running || small.running == big.running) return true;
    if (big.time >= small.running->time) return true;
    return big.running && big.running->op == small.running->op &&
           covers_blocks(big.running->blocks, small.running->blocks);
  }
  static void merge(AgentTime& into, const AgentTime& from) {
    into.time = std::max(into.time, from.time);
    if (!into.running || outdated(into)) {
      into.running = from.running;
    } else if (from.running && from.running->op == into.running->op) {
      warploom::merge(into.running.own().blocks, from.running->blocks);
    }
    if (outdated(into)) into.running = {};
  }
};

// --- puts ----------------------------------------------------------------------------------------

using ChannelTimes = std::vector<ChannelTime>;

template <class AnyChannels>
auto place_of_channel(AnyChannels& channels, ChannelId channel) {
  return std::lower_bound(channels.begin(), channels.end(), channel,
                          [](const ChannelTime& entry, ChannelId c) { return entry.channel < c; });
}

ChannelTime& channel_entry(ChannelTimes& channels, ChannelId channel) {
  const auto it = place_of_channel(channels, channel);
  if (it != channels.end() && it->channel == channel) return *it;
  return *channels.insert(it, {.channel = channel});
}

// Puts that follow without a gap become part of the bound.
void compact(ChannelTime& known) {
  if (!known.single) return;
  const auto& numbers = known.single->numbers;
  std::size_t used = 0;
  while (used < numbers.size() && numbers[used] <= known.landed + 1) {
    known.landed = std::max(known.landed, numbers[used++]);
  }
  if (used == numbers.size()) {
    known.single = {};
  } else if (used) {
    auto& left = known.single.own().numbers;
    left.erase(left.begin(), left.begin() + static_cast<long>(used));
  }
}

void merge(ChannelTime& into, const ChannelTime& from) {
  into.landed = std::max(into.landed, from.landed);
  into.read = std::max(into.read, from.read);
  if (from.single && from.single != into.single) {
    std::vector<uint32_t> all;
    static const Puts kNone;
    const auto& mine = into.single ? into.single->numbers : kNone.numbers;
    std::set_union(mine.begin(), mine.end(), from.single->numbers.begin(),
                   from.single->numbers.end(), std::back_inserter(all));
    into.single.own().numbers = std::move(all);
  }
  compact(into);
}

void join_seen(Ref<SeenPuts>& mine, const Ref<SeenPuts>& theirs) {
  if (!theirs || mine == theirs) return;
  if (!mine) {
    mine = theirs;
    return;
  }
  ChannelTimes& channels = mine.own().channels;
  for (const ChannelTime& entry : theirs->channels) {
    merge(channel_entry(channels, entry.channel), entry);
  }
}

}  // namespace

bool has_landed(const ChannelTime& known, uint32_t put) {
  if (put <= known.landed) return true;
  return known.single &&
         std::binary_search(known.single->numbers.begin(), known.single->numbers.end(), put);
}

void Clock::join(const Clock& other) {
  if (!other.data_ || other.data_ == data_) return;
  if (!data_) {
    data_ = other.data_;
    return;
  }
  const Ref<ClockData> theirs = other.data_;
  ClockData& mine = data_.own();
  mine.agents.join(theirs->agents, AgentRule());
  join_seen(mine.seen, theirs->seen);
  // Whoever knows the same shares it: the next join of the two has nothing to do.
  if (mine.agents.same_as(theirs->agents) && mine.seen == theirs->seen) data_ = theirs;
}

void Clock::advance(AgentId agent, uint32_t time) {
  if (agent_time(agent) >= time) return;
  AgentTime& known = data_.own().agents.change(agent);
  known.time = time;
  if (outdated(known)) known.running = {};
}

void Clock::advance_block(OpId id, uint32_t block, uint32_t all, uint16_t thread,
                          uint32_t thread_time) {
  const Op& op = op_of(id);
  AgentTime& known = data_.own().agents.change(op.agent);
  if (known.time >= op.time) return;
  known.time = op.time - 1;  // a stream's operations come one after the other
  if (!known.running || known.running->op != id)
    known.running = Ref(new RunningOp{.op = id, .time = op.time});
  BlockTimes& blocks = known.running.own().blocks;
  auto it = place_of_block(blocks, block);
  if (it == blocks.end() || (*it)->block != block) {
    it = blocks.insert(it, Ref(new BlockTime{.block = block}));
  }
  merge(it->own(), BlockTime{.all = all, .threads = {{thread, thread_time}}});
}

void Clock::channel_landed(ChannelId channel, uint32_t upto) {
  ChannelTime& known = channel_entry(data_.own().seen.own().channels, channel);
  known.landed = std::max(known.landed, upto);
  compact(known);
}

void Clock::channel_landed_single(ChannelId channel, uint32_t sequence) {
  ChannelTime& known = channel_entry(data_.own().seen.own().channels, channel);
  if (has_landed(known, sequence)) return;
  auto& puts = known.single.own().numbers;
  puts.insert(std::lower_bound(puts.begin(), puts.end(), sequence), sequence);
  compact(known);
}

void Clock::channel_read(ChannelId channel, uint32_t upto) {
  ChannelTime& known = channel_entry(data_.own().seen.own().channels, channel);
  known.read = std::max(known.read, upto);
}

const std::vector<ChannelTime>& Clock::seen_puts() const {
  static const SeenPuts kNone;
  return data_ && data_->seen ? data_->seen->channels : kNone.channels;
}

const ChannelTime* Clock::seen_of(ChannelId channel) const {
  const ChannelTimes& channels = seen_puts();
  const auto it = place_of_channel(channels, channel);
  return it != channels.end() && it->channel == channel ? &*it : nullptr;
}

void Clock::forget_puts() {
  if (data_ && data_->seen) data_.own().seen = {};
}

const RunningOp* Clock::running(OpId op) const {
  const AgentTime* agent = data_ ? data_->agents.find(op_of(op).agent) : nullptr;
  return agent && agent->running && agent->running->op == op ? agent->running.get() : nullptr;
}

bool Clock::covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const {
  const RunningOp* known_op = running(op);
  const BlockTime* known = known_op ? find_block(known_op->blocks, block) : nullptr;
  return known && covers_thread(*known, thread, time);
}

bool Clock::knows_other_blocks(OpId op, uint32_t block) const {
  const RunningOp* known = running(op);
  return known && !(known->blocks.size() == 1 && known->blocks[0]->block == block);
}

}  // namespace warploom
