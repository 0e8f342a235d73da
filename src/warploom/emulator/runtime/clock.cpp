#include "clock.h"

#include <algorithm>

#include "race.h"

namespace warploom {

namespace {

bool key_less(const BlockTime& a, const BlockTime& b) {
  return a.op != b.op ? a.op < b.op : a.block < b.block;
}

void merge_threads(BlockTime& into, const BlockTime& from) {
  for (const auto& [thread, time] : from.threads) {
    auto same = [t = thread](const auto& entry) { return entry.first == t; };
    auto it = std::find_if(into.threads.begin(), into.threads.end(), same);
    if (it == into.threads.end()) {
      into.threads.emplace_back(thread, time);
    } else {
      it->second = std::max(it->second, time);
    }
  }
}

void merge_block(BlockTime& into, const BlockTime& from) {
  into.all = std::max(into.all, from.all);
  merge_threads(into, from);
  // What the whole block's bound covers need not be kept per thread.
  std::erase_if(into.threads, [&](const auto& entry) { return entry.second < into.all; });
}

void compact(ChannelTime& channel) {
  auto& single = channel.single;
  std::sort(single.begin(), single.end());
  single.erase(std::unique(single.begin(), single.end()), single.end());
  std::size_t used = 0;
  while (used < single.size() && single[used] <= channel.landed + 1) {
    channel.landed = std::max(channel.landed, single[used++]);
  }
  single.erase(single.begin(), single.begin() + static_cast<long>(used));
}

void merge_channel(ChannelTime& into, const ChannelTime& from) {
  into.landed = std::max(into.landed, from.landed);
  into.read = std::max(into.read, from.read);
  if (!from.single.empty()) {
    into.single.insert(into.single.end(), from.single.begin(), from.single.end());
  }
  if (!into.single.empty()) compact(into);
}

template <class Entry, class Less, class Merge>
void merge_sorted(std::vector<Entry>& into, const std::vector<Entry>& from, Less less,
                  Merge merge) {
  if (from.empty()) return;
  std::vector<Entry> result;
  result.reserve(into.size() + from.size());
  std::size_t i = 0, j = 0;
  while (i < into.size() || j < from.size()) {
    if (j == from.size() || (i < into.size() && less(into[i], from[j]))) {
      result.push_back(std::move(into[i++]));
    } else if (i == into.size() || less(from[j], into[i])) {
      result.push_back(from[j++]);
    } else {
      merge(into[i], from[j++]);
      result.push_back(std::move(into[i++]));
    }
  }
  into = std::move(result);
}

bool channel_less(const ChannelTime& a, const ChannelTime& b) { return a.channel < b.channel; }

// A finished operation is covered by its stream's time; its blocks need no entries of their own.
bool outdated(const BlockTime& entry, const ClockData& data) {
  const Op& op = op_of(entry.op);
  return op.agent < data.agents.size() && data.agents[op.agent] >= op.time;
}

bool block_covered(const BlockTime& entry, const ClockData& data) {
  if (outdated(entry, data)) return true;
  auto it = std::lower_bound(data.blocks.begin(), data.blocks.end(), entry, key_less);
  if (it == data.blocks.end() || key_less(entry, *it) || it->all < entry.all) return false;
  for (const auto& [thread, time] : entry.threads) {
    if (time < it->all) continue;
    auto same = [t = thread](const auto& known) { return known.first == t; };
    auto known = std::find_if(it->threads.begin(), it->threads.end(), same);
    if (known == it->threads.end() || known->second < time) return false;
  }
  return true;
}

bool channel_covered(const ChannelTime& entry, const ChannelTime& known) {
  if (known.landed < entry.landed || known.read < entry.read) return false;
  for (uint32_t put : entry.single) {
    if (put <= known.landed) continue;
    if (!std::binary_search(known.single.begin(), known.single.end(), put)) return false;
  }
  return true;
}

bool channels_covered(const ClockData& big, const ClockData& small) {
  if (!small.channels || small.channels == big.channels) return true;
  if (!big.channels) return false;
  auto it = big.channels->begin();
  for (const ChannelTime& entry : *small.channels) {
    while (it != big.channels->end() && it->channel < entry.channel) ++it;
    if (it == big.channels->end() || it->channel != entry.channel) return false;
    if (!channel_covered(entry, *it)) return false;
  }
  return true;
}

bool covers(const ClockData& big, const ClockData& small) {
  for (std::size_t i = 0; i < small.agents.size(); i++) {
    if (small.agents[i] > (i < big.agents.size() ? big.agents[i] : 0)) return false;
  }
  for (const auto& entry : small.blocks) {
    if (!block_covered(entry, big)) return false;
  }
  return channels_covered(big, small);
}

Channels& own_channels(ClockData& data) {
  if (!data.channels) {
    data.channels = std::make_shared<Channels>();
  } else if (data.channels.use_count() > 1) {
    data.channels = std::make_shared<Channels>(*data.channels);
  }
  return const_cast<Channels&>(*data.channels);  // nobody else has it
}

ChannelTime& channel_entry(ClockData& data, ChannelId channel) {
  Channels& channels = own_channels(data);
  ChannelTime key{channel};
  auto it = std::lower_bound(channels.begin(), channels.end(), key, channel_less);
  if (it == channels.end() || it->channel != channel) it = channels.insert(it, key);
  return *it;
}

const ChannelTime* find_channel(const ClockData* data, ChannelId channel) {
  if (!data || !data->channels) return nullptr;
  ChannelTime key{channel};
  auto it = std::lower_bound(data->channels->begin(), data->channels->end(), key, channel_less);
  return it != data->channels->end() && it->channel == channel ? &*it : nullptr;
}

void join_channels(ClockData& mine, const ClockData& theirs) {
  if (channels_covered(mine, theirs)) return;
  if (channels_covered(theirs, mine)) {
    mine.channels = theirs.channels;
    return;
  }
  merge_sorted(own_channels(mine), *theirs.channels, channel_less, merge_channel);
}

}  // namespace

Clock::Clock(const Clock& other) : data_(other.data_) {
  if (data_) data_->references++;
}

Clock::~Clock() {
  if (data_ && --data_->references == 0) delete data_;
}

ClockData& Clock::writable() {
  if (!data_) {
    data_ = new ClockData;
    data_->references = 1;
  } else if (data_->references > 1) {
    auto* copy = new ClockData(*data_);
    data_->references--;
    data_ = copy;
    data_->references = 1;
  }
  return *data_;
}

void Clock::join(const Clock& other) {
  if (!other.data_ || other.data_ == data_) return;
  if (!data_ || covers(*other.data_, *data_)) {
    *this = Clock(other);
    return;
  }
  if (covers(*data_, *other.data_)) return;
  const Clock keep(other);
  ClockData& mine = writable();
  const ClockData& theirs = *keep.data_;
  if (mine.agents.size() < theirs.agents.size()) mine.agents.resize(theirs.agents.size());
  for (std::size_t i = 0; i < theirs.agents.size(); i++) {
    mine.agents[i] = std::max(mine.agents[i], theirs.agents[i]);
  }
  merge_sorted(mine.blocks, theirs.blocks, key_less, merge_block);
  std::erase_if(mine.blocks, [&](const BlockTime& entry) { return outdated(entry, mine); });
  join_channels(mine, theirs);
}

void Clock::advance(AgentId agent, uint32_t time) {
  if (agent_time(agent) >= time) return;
  ClockData& data = writable();
  if (data.agents.size() <= agent) data.agents.resize(agent + 1);
  data.agents[agent] = time;
  std::erase_if(data.blocks, [&](const BlockTime& entry) { return outdated(entry, data); });
}

void Clock::advance_block(OpId op, uint32_t block, uint32_t all, uint16_t thread,
                          uint32_t thread_time) {
  ClockData& data = writable();
  BlockTime entry{op, block, all, {{thread, thread_time}}};
  auto it = std::lower_bound(data.blocks.begin(), data.blocks.end(), entry, key_less);
  if (it != data.blocks.end() && !key_less(entry, *it)) {
    merge_block(*it, entry);
  } else {
    data.blocks.insert(it, std::move(entry));
  }
}

void Clock::channel_landed(ChannelId channel, uint32_t upto) {
  ChannelTime& entry = channel_entry(writable(), channel);
  entry.landed = std::max(entry.landed, upto);
  compact(entry);
}

void Clock::channel_landed_single(ChannelId channel, uint32_t sequence) {
  ChannelTime& entry = channel_entry(writable(), channel);
  if (sequence <= entry.landed) return;
  entry.single.push_back(sequence);
  compact(entry);
}

void Clock::channel_read(ChannelId channel, uint32_t upto) {
  ChannelTime& entry = channel_entry(writable(), channel);
  entry.read = std::max(entry.read, upto);
}

bool Clock::covers_block(OpId op, uint32_t block, uint16_t thread, uint32_t time) const {
  if (!data_) return false;
  BlockTime key{op, block};
  auto it = std::lower_bound(data_->blocks.begin(), data_->blocks.end(), key, key_less);
  if (it == data_->blocks.end() || key_less(key, *it)) return false;
  if (time < it->all) return true;
  for (const auto& [known, upto] : it->threads) {
    if (known == thread) return time <= upto;
  }
  return false;
}

bool Clock::covers_landing(ChannelId channel, uint32_t sequence) const {
  const ChannelTime* entry = find_channel(data_, channel);
  if (!entry) return false;
  return sequence <= entry->landed ||
         std::binary_search(entry->single.begin(), entry->single.end(), sequence);
}

bool Clock::covers_reading(ChannelId channel, uint32_t sequence) const {
  const ChannelTime* entry = find_channel(data_, channel);
  return entry && (sequence <= entry->read || covers_landing(channel, sequence));
}

}  // namespace warploom
