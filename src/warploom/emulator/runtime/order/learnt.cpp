#include "order/learnt.h"

#include <algorithm>

namespace warploom {

namespace {

struct Learnt {
  uint32_t put;
  bool single;  // only this one; else all up to it
  Moment moment;
};

// Of one channel, sorted by put; equal ones in the order in which they came.
struct LearntOfChannel {
  ShortVector<Learnt> landed, read;
  ChannelTime everybody;  // what all know
};
std::vector<LearntOfChannel> g_learnt;
std::size_t g_learners = 0, g_most_learners = 0;

auto place_of_put(ShortVector<Learnt>& list, uint32_t put) {
  return std::lower_bound(list.begin(), list.end(), put,
                          [](const Learnt& entry, uint32_t p) { return entry.put < p; });
}

// Does the clock cover a moment at which `put` was learnt of; with `all`, all those before it too?
bool knows(ShortVector<Learnt>& list, const Clock& clock, uint32_t put, bool all) {
  for (auto it = place_of_put(list, put); it != list.end(); ++it) {
    if (it->single && (all || it->put != put)) continue;
    if (covers(clock, it->moment)) return true;
  }
  return false;
}

void learn(ShortVector<Learnt>& list, const Clock& before, const Learnt& learnt) {
  if (knows(list, before, learnt.put, !learnt.single)) return;
  auto it = place_of_put(list, learnt.put);
  while (it != list.end() && it->put == learnt.put) ++it;
  list.insert(it, learnt);
  g_most_learners = std::max(g_most_learners, ++g_learners);
}

bool everybody_knows(const LearntOfChannel& history, const Learnt& landed) {
  return landed.single ? has_landed(history.everybody, landed.put)
                       : landed.put <= history.everybody.landed;
}

}  // namespace

bool covers(const Clock& clock, const Moment& moment) {
  const Op& op = op_of(moment.op);
  if (clock.agent_time(op.agent) >= op.time) return true;
  return op.kind == OpKind::Kernel &&
         clock.covers_block(moment.op, moment.block, moment.thread, moment.time);
}

void learn_puts(const Clock& seen, const Clock& before, const Moment& moment) {
  for (const ChannelTime& entry : seen.seen_puts()) {
    if (g_learnt.size() <= entry.channel) g_learnt.resize(entry.channel + 1);
    LearntOfChannel& history = g_learnt[entry.channel];
    const ChannelTime* known = before.seen_of(entry.channel);
    if (entry.landed > std::max(known ? known->landed : 0, history.everybody.landed)) {
      learn(history.landed, before, {entry.landed, false, moment});
    }
    if (entry.read > std::max(known ? known->read : 0, history.everybody.read)) {
      learn(history.read, before, {entry.read, false, moment});
    }
    if (!entry.single) continue;
    for (const uint32_t put : entry.single->numbers) {
      if ((known && has_landed(*known, put)) || has_landed(history.everybody, put)) continue;
      learn(history.landed, before, {put, true, moment});
    }
  }
}

bool knows_landing(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && has_landed(*seen, put)) return true;
  if (channel >= g_learnt.size()) return false;
  LearntOfChannel& history = g_learnt[channel];
  return has_landed(history.everybody, put) || knows(history.landed, clock, put, false);
}

bool knows_reading(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && put <= seen->read) return true;
  if (channel < g_learnt.size()) {
    LearntOfChannel& history = g_learnt[channel];
    if (put <= history.everybody.read || knows(history.read, clock, put, false)) return true;
  }
  return knows_landing(clock, channel, put);
}

bool covers(const KnownToAll& times, const Moment& moment) {
  const Op& op = op_of(moment.op);
  return op.agent < times.size() && times[op.agent] >= op.time;
}

void forget_learners(const KnownToAll& times) {
  for (LearntOfChannel& history : g_learnt) {
    ChannelTime& everybody = history.everybody;
    for (const Learnt& entry : history.landed) {
      if (!covers(times, entry.moment)) continue;
      entry.single ? add_landed_single(everybody, entry.put) : add_landed(everybody, entry.put);
    }
    for (const Learnt& entry : history.read) {
      if (covers(times, entry.moment)) everybody.read = std::max(everybody.read, entry.put);
    }
    g_learners -= std::erase_if(
        history.landed, [&](const Learnt& entry) { return everybody_knows(history, entry); });
    g_learners -= std::erase_if(history.read,
                                [&](const Learnt& entry) { return entry.put <= everybody.read; });
    if (history.landed.empty()) history.landed.shrink_to_fit();
    if (history.read.empty()) history.read.shrink_to_fit();
  }
}

std::size_t learners() { return g_learners; }
std::size_t most_learners() { return g_most_learners; }

}  // namespace warploom
