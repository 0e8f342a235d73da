#include "order/completions.h"

#include <algorithm>

namespace warploom {

namespace {

struct Completion {
  uint32_t put;
  bool single;  // only this one; else all up to it
  Moment moment;
};

// Of one channel, sorted by put; equal ones in the order in which they came.
struct ChannelCompletions {
  ShortVector<Completion> landed, read;
  ChannelTime everybody;  // what all know
};
std::vector<ChannelCompletions> g_completions;
std::size_t g_remembered = 0, g_most_remembered = 0;

auto place_of_put(ShortVector<Completion>& list, uint32_t put) {
  return std::lower_bound(list.begin(), list.end(), put,
                          [](const Completion& entry, uint32_t p) { return entry.put < p; });
}

// Does the clock cover a moment at which `put` was observed; with `all`, all before it too?
bool knows(ShortVector<Completion>& list, const Clock& clock, uint32_t put, bool all) {
  for (auto it = place_of_put(list, put); it != list.end(); ++it) {
    if (it->single && (all || it->put != put)) continue;
    if (covers(clock, it->moment)) return true;
  }
  return false;
}

void note(ShortVector<Completion>& list, const Clock& before, const Completion& completion) {
  if (knows(list, before, completion.put, !completion.single)) return;
  auto it = place_of_put(list, completion.put);
  while (it != list.end() && it->put == completion.put) ++it;
  list.insert(it, completion);
  g_most_remembered = std::max(g_most_remembered, ++g_remembered);
}

bool everybody_knows(const ChannelCompletions& history, const Completion& landed) {
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

void acquire_puts(const Clock& seen, const Clock& before, const Moment& moment) {
  for (const ChannelTime& entry : seen.seen_puts()) {
    if (g_completions.size() <= entry.channel) g_completions.resize(entry.channel + 1);
    ChannelCompletions& history = g_completions[entry.channel];
    const ChannelTime* known = before.seen_of(entry.channel);
    if (entry.landed > std::max(known ? known->landed : 0, history.everybody.landed)) {
      note(history.landed, before, {entry.landed, false, moment});
    }
    if (entry.read > std::max(known ? known->read : 0, history.everybody.read)) {
      note(history.read, before, {entry.read, false, moment});
    }
    if (!entry.single) continue;
    for (const uint32_t put : entry.single->numbers) {
      if ((known && has_landed(*known, put)) || has_landed(history.everybody, put)) continue;
      note(history.landed, before, {put, true, moment});
    }
  }
}

bool knows_landing(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && has_landed(*seen, put)) return true;
  if (channel >= g_completions.size()) return false;
  ChannelCompletions& history = g_completions[channel];
  return has_landed(history.everybody, put) || knows(history.landed, clock, put, false);
}

bool knows_reading(const Clock& clock, ChannelId channel, uint32_t put) {
  const ChannelTime* seen = clock.seen_of(channel);
  if (seen && put <= seen->read) return true;
  if (channel < g_completions.size()) {
    ChannelCompletions& history = g_completions[channel];
    if (put <= history.everybody.read || knows(history.read, clock, put, false)) return true;
  }
  return knows_landing(clock, channel, put);
}

bool covers(const KnownToAll& times, const Moment& moment) {
  const Op& op = op_of(moment.op);
  return op.agent < times.size() && times[op.agent] >= op.time;
}

void forget_completions(const KnownToAll& times) {
  for (ChannelCompletions& history : g_completions) {
    ChannelTime& everybody = history.everybody;
    for (const Completion& entry : history.landed) {
      if (!covers(times, entry.moment)) continue;
      entry.single ? add_landed_single(everybody, entry.put) : add_landed(everybody, entry.put);
    }
    for (const Completion& entry : history.read) {
      if (covers(times, entry.moment)) everybody.read = std::max(everybody.read, entry.put);
    }
    g_remembered -= std::erase_if(
        history.landed, [&](const Completion& entry) { return everybody_knows(history, entry); });
    g_remembered -= std::erase_if(
        history.read, [&](const Completion& entry) { return entry.put <= everybody.read; });
    if (history.landed.empty()) history.landed.shrink_to_fit();
    if (history.read.empty()) history.read.shrink_to_fit();
  }
}

std::size_t completions() { return g_remembered; }
std::size_t most_completions() { return g_most_remembered; }

}  // namespace warploom
