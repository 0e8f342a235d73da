#include "order/clock.h"

#include <algorithm>
#include <unordered_set>

#include "order/race.h"

namespace warploom {

namespace {

// --- parts and threads ---------------------------------------------------------------------------

const RunningOp* running_in(const ClockPart& part, OpId op, AgentId agent) {
  const RunningOp* running = part.times.running_of(agent);
  return running && running->op == op ? running : nullptr;
}

bool holds(const ClockData& clock, const ClockPart& part) {
  return std::any_of(clock.parts.begin(), clock.parts.end(),
                     [&](const ClockPart& one) { return one.times.same_as(part.times); });
}

void merge_parts(ClockData& clock) {
  auto& parts = clock.parts;
  for (ClockPart* part = parts.begin() + 1; part < parts.end(); part++) {
    parts.begin()->times.join(part->times);
  }
  parts.resize_down(1);
  parts.begin()->set_stage({});
}

// A part to which something is added now, so that its stage tells nothing any more.
AgentTimes& changing_part(ClockData& clock) {
  for (ClockPart& part : clock.parts) {
    if (!part.stage.op) return part.times;
  }
  if (clock.parts.full()) merge_parts(clock);
  return clock.parts.size() == 1 && !clock.parts.begin()->stage.op ? clock.parts.begin()->times
                                                                   : clock.parts.add({}).times;
}

bool same_block(const KnownThread& one, const KnownThread& other) {
  return one.op == other.op && one.block == other.block;
}

// Does the one tell all that the other does?
bool tells(const KnownThread& one, const KnownThread& other) {
  if (one.agent != other.agent) return false;
  if (one.time != other.time) return one.time > other.time;
  return same_block(one, other) && one.all >= other.all &&
         (other.upto < one.all || (one.thread == other.thread && one.upto >= other.upto));
}

void enter(ClockData& clock, KnownThread thread) {
  auto& threads = clock.threads;
  for (const KnownThread& known : threads) {
    if (!same_block(known, thread) || known.thread != thread.thread) continue;
    thread.all = std::max(thread.all, known.all);
    thread.upto = std::max(thread.upto, known.upto);
  }
  threads.erase_if([&](const KnownThread& known) { return tells(thread, known); });
  if (threads.full()) {
    AgentTimes& times = changing_part(clock);
    for (const KnownThread& known : threads) times.add(known);
    threads.resize_down(0);
  }
  threads.add(thread);
}

void add_part(ClockData& clock, const ClockPart& part) {
  if (clock.parts.full()) merge_parts(clock);
  clock.parts.add(part);
}

// --- puts ----------------------------------------------------------------------------------------

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
    ShortVector<uint32_t> all;
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

void add_landed(ChannelTime& known, uint32_t upto) {
  known.landed = std::max(known.landed, upto);
  compact(known);
}

void add_landed_single(ChannelTime& known, uint32_t put) {
  if (has_landed(known, put)) return;
  auto& puts = known.single.own().numbers;
  puts.insert(std::lower_bound(puts.begin(), puts.end(), put), put);
  compact(known);
}

void ClockPart::set_stage(const Stage& to) {
  static uint64_t stages = 0;
  stage = to;
  reached = ++stages;
  agent = to.op ? op_of(to.op).agent : 0;
  time = to.op ? op_of(to.op).time : 0;
}

// `agent` will have reached `time` when the stage's operation has ended.
bool Clock::knows(const Stage& stage, AgentId agent, uint32_t time, uint64_t reached) const {
  if (!stage.op) return false;
  for (const KnownThread& known : data_->threads) {
    if (known.agent == agent && known.time > time) return true;
    if (known.op != stage.op) continue;
    if (!stage.all || (known.block == stage.block && known.all >= stage.all)) return true;
  }
  for (const ClockPart& part : data_->parts) {
    if (part.stage.op && part.reached < reached) continue;
    const AgentLeaf* leaf = part.times.find(agent);
    if (!leaf) continue;
    const uint32_t at = agent % kAgentsInLeaf;
    if (leaf->time[at] >= time) return true;
    const RunningOp* running = leaf->running[at].get();
    if (!running || running->op != stage.op) continue;
    const BlockTime* block = running->find(stage.block);
    if (!stage.all || (block && block->all >= stage.all)) return true;
  }
  return false;
}

bool Clock::has(const ClockPart& part) const {
  return holds(*data_, part) || knows(part.stage, part.agent, part.time, part.reached);
}

bool Clock::has(const KnownThread& thread) const {
  const uint32_t time = agent_time(thread.agent);
  if (time >= thread.time) return true;
  if (time + 1 < thread.time) return false;
  if (thread.all && !knows({thread.op, thread.block, thread.all}, thread.agent, thread.time, 0)) {
    return false;
  }
  return thread.upto < thread.all ||
         covers_block(thread.op, thread.block, thread.thread, thread.upto);
}

// Which parts of the other are known here, one bit for each.
unsigned Clock::parts_known_of(const ClockData& other) const {
  unsigned known = 0, bit = 1;
  for (const ClockPart& part : other.parts) {
    if (has(part)) known |= bit;
    bit <<= 1;
  }
  return known;
}

bool Clock::has_threads_of(const ClockData& other) const {
  return std::all_of(other.threads.begin(), other.threads.end(),
                     [this](const KnownThread& thread) { return has(thread); });
}

void Clock::join(const Clock& other) {
  if (!other.data_ || other.data_ == data_) return;
  if (!data_) {
    data_ = other.data_;
    return;
  }
  const Clock from = other;
  const ClockData& theirs = *from.data_;
  const unsigned known = parts_known_of(theirs), all_theirs = (1u << theirs.parts.size()) - 1;
  const bool all_seen = !theirs.seen || theirs.seen == data_->seen;
  if (all_seen && known == all_theirs && has_threads_of(theirs)) return;
  // Whoever knows the same shares it: the next join of the two has nothing to do.
  const unsigned outdated = from.parts_known_of(*data_), all = (1u << data_->parts.size()) - 1;
  if ((!data_->seen || data_->seen == theirs.seen) && outdated == all &&
      from.has_threads_of(*data_)) {
    data_ = from.data_;
    return;
  }
  take_over(from, known, outdated);
  join_seen(data_.own().seen, theirs.seen);
}

// `known`: parts of theirs that are known here; `outdated`: parts of mine that are known there.
void Clock::take_over(const Clock& from, unsigned known, unsigned outdated) {
  const ClockData& theirs = *from.data_;
  ClockData& mine = data_.own();
  Few<ClockPart, kParts> wanted, kept;
  bool takes_all = true;
  for (const ClockPart& part : theirs.parts) {
    if (!(known & 1)) {
      wanted.add(part);
    } else {
      takes_all &= holds(mine, part);
    }
    known >>= 1;
  }
  // What they know can stand for mine only where all of it is here to stay.
  if (takes_all) {
    for (const ClockPart& part : mine.parts) {
      if (!(outdated & 1) || holds(theirs, part)) kept.add(part);
      outdated >>= 1;
    }
    mine.parts = std::move(kept);
    mine.threads.erase_if([&](const KnownThread& thread) { return from.has(thread); });
  }
  for (const ClockPart& part : wanted) add_part(mine, part);
  for (const KnownThread& thread : theirs.threads) {
    if (!has(thread)) enter(mine, thread);
  }
}

void Clock::join_all(const std::vector<const Clock*>& others, const Stage& stage) {
  Ref<ClockData> joined;
  ClockData& made = joined.own();
  AgentTimes times;
  std::vector<const ClockPart*> parts;
  std::unordered_set<const void*> met;
  const auto add = [&](const Clock& clock) {
    if (!clock.data_) return;
    join_seen(made.seen, clock.data_->seen);
    for (const ClockPart& part : clock.data_->parts) {
      if (met.insert(part.times.identity()).second) parts.push_back(&part);
    }
    // First of all: what an agent did last makes much of what others know of it outdated.
    for (const KnownThread& thread : clock.data_->threads) {
      if (thread.op == stage.op && thread.block == stage.block) {
        enter(made, thread);
      } else {
        times.add(thread);
      }
    }
  };
  add(*this);
  for (const Clock* other : others) add(*other);
  for (const ClockPart* part : parts) times.join(part->times);
  for (const ClockPart& part : made.parts) times.join(part.times);
  made.parts.resize_down(0);
  made.parts.add({std::move(times)}).set_stage(stage);
  data_ = std::move(joined);
}

void Clock::advance(AgentId agent, uint32_t time) {
  if (agent_time(agent) >= time) return;
  changing_part(data_.own()).advance(agent, time);
}

void Clock::advance_block(OpId id, uint32_t block, uint32_t all, uint16_t thread,
                          uint32_t thread_time) {
  const Op& op = op_of(id);
  if (agent_time(op.agent) >= op.time) return;
  enter(data_.own(), {id, op.agent, op.time, block, all, thread_time, thread});
}

void Clock::settle(const Stage& stage) {
  if (!data_) return;
  const auto own = [&](const KnownThread& known) {
    return known.op == stage.op && known.block == stage.block;
  };
  const bool settled = data_->parts.size() == 1 && data_->parts.begin()->stage == stage &&
                       std::all_of(data_->threads.begin(), data_->threads.end(), own);
  if (settled) return;
  ClockData& mine = data_.own();
  if (mine.parts.empty()) mine.parts.add({});
  merge_parts(mine);
  ClockPart& whole = *mine.parts.begin();
  for (const KnownThread& known : mine.threads) {
    if (!own(known)) whole.times.add(known);
  }
  mine.threads.erase_if([&](const KnownThread& known) { return !own(known); });
  whole.set_stage(stage);
}

void Clock::channel_landed(ChannelId channel, uint32_t upto) {
  add_landed(channel_entry(data_.own().seen.own().channels, channel), upto);
}

void Clock::channel_landed_single(ChannelId channel, uint32_t sequence) {
  add_landed_single(channel_entry(data_.own().seen.own().channels, channel), sequence);
}

void Clock::channel_read(ChannelId channel, uint32_t upto) {
  ChannelTime& known = channel_entry(data_.own().seen.own().channels, channel);
  known.read = std::max(known.read, upto);
}

const ChannelTimes& Clock::seen_puts() const {
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

bool Clock::covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const {
  if (!data_) return false;
  for (const KnownThread& known : data_->threads) {
    if (known.op != op || known.block != block) continue;
    if (time < known.all || (known.thread == thread && time <= known.upto)) return true;
  }
  for (const ClockPart& part : data_->parts) {
    const RunningOp* running = running_in(part, op, op_of(op).agent);
    const BlockTime* known = running ? running->find(block) : nullptr;
    if (known && known->covers(thread, time)) return true;
  }
  return false;
}

bool Clock::knows_block(OpId op, uint32_t block) const {
  if (!data_) return false;
  for (const KnownThread& known : data_->threads) {
    if (known.op == op && known.block == block) return true;
  }
  return std::ranges::any_of(data_->parts, [&](const ClockPart& part) {
    const RunningOp* known = running_in(part, op, op_of(op).agent);
    return known && known->find(block);
  });
}

bool Clock::knows_other_blocks(OpId op, uint32_t block) const {
  if (!data_) return false;
  for (const KnownThread& known : data_->threads) {
    if (known.op == op && known.block != block) return true;
  }
  for (const ClockPart& part : data_->parts) {
    const RunningOp* known = running_in(part, op, op_of(op).agent);
    if (known && !(known->blocks.size() == 1 && known->blocks[0]->block == block)) return true;
  }
  return false;
}

}  // namespace warploom
