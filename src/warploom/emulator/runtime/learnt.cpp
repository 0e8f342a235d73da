#include "learnt.h"

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
  std::vector<Learnt> landed, read;
};
std::vector<LearntOfChannel> g_learnt;

auto place_of_put(std::vector<Learnt>& list, uint32_t put) {
  return std::lower_bound(list.begin(), list.end(), put,
                          [](const Learnt& entry, uint32_t p) { return entry.put < p; });
}

// Does the clock cover a moment at which `put` was learnt of; with `all`, all those before it too?
bool knows(std::vector<Learnt>& list, const Clock& clock, uint32_t put, bool all) {
  for (auto it = place_of_put(list, put); it != list.end(); ++it) {
    if (it->single && (all || it->put != put)) continue;
    if (covers(clock, it->moment)) return true;
  }
  return false;
}

void learn(std::vector<Learnt>& list, const Clock& before, const Learnt& learnt) {
  if (knows(list, before, learnt.put, !learnt.single)) return;
  auto it = place_of_put(list, learnt.put);
  while (it != list.end() && it->put == learnt.put) ++it;
  list.insert(it, learnt);
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
    if (entry.landed > (known ? known->landed : 0)) {
      learn(history.landed, before, {entry.landed, false, moment});
    }
    if (entry.read > (known ? known->read : 0)) {
      learn(history.read, before, {entry.read, false, moment});
    }
    if (!entry.single) continue;
    for (const uint32_t put : entry.single->numbers) {
      if (known && has_landed(*known, put)) continue;
      learn(history.landed, before, {put, true, moment});
    }
  }
}

bool knows_landing(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && has_landed(*seen, put)) return true;
  return channel < g_learnt.size() && knows(g_learnt[channel].landed, clock, put, false);
}

bool knows_reading(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && put <= seen->read) return true;
  if (channel < g_learnt.size() && knows(g_learnt[channel].read, clock, put, false)) return true;
  return knows_landing(clock, channel, put);
}

}  // namespace warploom
