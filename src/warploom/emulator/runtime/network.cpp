#include "network.h"

#include <algorithm>
#include <cstring>

#include "memory.h"
#include "stats.h"

namespace warploom::nccl {

namespace {

ChannelId g_channels = 0;

bool memory_alive(const Transfer& t, const void* p, const char* side) {
  const Allocation* allocation = find_allocation(p);
  if (allocation && allocation->live) return true;
  report_finding({.kind = "window_use_after_free",
                  .message = format("the %s of a %s of %zu bytes was freed while it was on its "
                                    "way",
                                    side, t.name, t.bytes),
                  .hint = "free memory after the puts on it have completed",
                  .where = t.where,
                  .other = allocation ? allocation->freed : Frames{},
                  .rank = t.channel->source});
  return false;
}

void read_source(Transfer& t) {
  if (t.read) return;
  t.read = true;
  if (t.source && t.bytes && memory_alive(t, t.source, "source")) {
    t.staged.assign(t.source, t.source + t.bytes);
  }
}

void finish_counter(Transfer& t) {
  read_source(t);
  Counter* counter = std::exchange(t.counter, nullptr);
  counter->value++;
  counter->clock.join(t.counter_clock);
  counter->waiters.notify_all();
}

void land(Transfer& t) {
  if (t.landed) return;
  read_source(t);
  t.landed = true;
  if (t.destination && !t.staged.empty() && memory_alive(t, t.destination, "destination")) {
    std::memcpy(t.destination, t.staged.data(), t.staged.size());
  }
  t.staged = {};
  note_progress();
}

void deliver_signal(Transfer& t) {
  if (t.strong) {
    for (auto& other : t.channel->pending) {
      if (other->sequence <= t.sequence) land(*other);
    }
  }
  land(t);
  Signal* signal = std::exchange(t.signal, nullptr);
  *signal->word += t.amount;
  signal->clock.join(t.signal_clock);
  signal->waiters.notify_all();
}

void remove_finished(Channel& channel) {
  std::erase_if(channel.pending, [](const auto& t) { return t->finished(); });
}

// Everything that is on its way.
class Network final : public Runnable {
 public:
  Network() : Runnable(Kind::Network) {}

  void add(Channel& channel) {
    if (std::find(busy_.begin(), busy_.end(), &channel) == busy_.end()) busy_.push_back(&channel);
    enqueue(this);
  }

  void run() override {
    std::erase_if(busy_, [](const Channel* channel) { return channel->pending.empty(); });
    if (busy_.empty()) return;
    if (g_config.timing == NetTiming::Lazy) {
      step_lazily();
    } else {
      step_at_random();
    }
    std::erase_if(busy_, [](const Channel* channel) { return channel->pending.empty(); });
    if (!busy_.empty()) enqueue(this);
  }

 private:
  // What somebody can wait for comes first, and forces no more than it must.
  void step_lazily() {
    Transfer* chosen = nullptr;
    uint64_t seen = 0;
    for (Channel* channel : busy_) {
      for (auto& t : channel->pending) {
        if ((t->signal || t->counter) && random_below(++seen) == 0) chosen = t.get();
      }
    }
    if (chosen) {
      if (chosen->counter && (!chosen->signal || random_below(2))) {
        finish_counter(*chosen);
      } else {
        deliver_signal(*chosen);
      }
      remove_finished(*chosen->channel);
      return;
    }
    // Plain puts, of which nobody is told.
    Channel& channel = *busy_[random_below(busy_.size())];
    land(*channel.pending[random_below(channel.pending.size())]);
    remove_finished(channel);
  }

  void step_at_random() {
    Channel& channel = *busy_[random_below(busy_.size())];
    Transfer& t = *channel.pending[random_below(channel.pending.size())];
    switch (random_below(4)) {
      case 0:
        read_source(t);
        break;
      case 1:
        land(t);
        break;
      case 2:
        if (t.counter) finish_counter(t);
        break;
      default:
        if (t.signal) deliver_signal(t);
        break;
    }
    remove_finished(channel);
  }

  std::vector<Channel*> busy_;
};
Network g_network;

}  // namespace

OpId Channel::operation_at(const Frames& where, const char* name) {
  const std::string key(reinterpret_cast<const char*>(where.pc), sizeof where.pc);
  OpId& op = operations[key];
  if (!op) {
    op = new_op({.kind = OpKind::Channel,
                 .channel = id,
                 .rank = current_rank(),
                 .name = name,
                 .frames = where});
  }
  return op;
}

Channel& channel(DevComm& dc, int peer, uint32_t context, bool get) {
  auto& slot = dc.set->channels[{dc.rank, peer, context, get}];
  if (!slot) {
    slot = std::make_unique<Channel>();
    slot->id = ++g_channels;
    slot->set = dc.set;
    slot->source = dc.rank;
    slot->peer = peer;
    slot->context = context;
    slot->get = get;
  }
  return *slot;
}

void send(std::unique_ptr<Transfer> transfer) {
  Transfer& t = *transfer;
  Channel& channel = *t.channel;
  g_stats.puts++;
  channel.pending.push_back(std::move(transfer));
  if (g_config.timing == NetTiming::Eager) {
    land(t);
    if (t.counter) finish_counter(t);
    if (t.signal) deliver_signal(t);
    remove_finished(channel);
    return;
  }
  g_network.add(channel);
}

void read_sources(Channel& channel, uint32_t upto) {
  for (auto& t : channel.pending) {
    if (t->sequence <= upto) read_source(*t);
  }
}

void land(Channel& channel, uint32_t upto) {
  for (auto& t : channel.pending) {
    if (t->sequence <= upto) land(*t);
  }
  remove_finished(channel);
}

void deliver_from(DevComm& dc) {
  for (auto& [key, channel] : dc.set->channels) {
    if (channel->source != dc.rank) continue;
    for (auto& t : channel->pending) {
      land(*t);
      if (t->counter) finish_counter(*t);
      if (t->signal) deliver_signal(*t);
    }
    remove_finished(*channel);
  }
}

void check_quiet(ncclWindow_t window, const Frames& where) {
  for (DevComm* dc : all_devcomms()) {
    if (dc->set->clique != window->set->clique || dc->set->members[0] != dc) continue;
    for (auto& [key, channel] : dc->set->channels) {
      for (auto& t : channel->pending) {
        const bool source = t->source_window == window && !t->read;
        const bool destination = t->destination_window == window && !t->landed;
        if (!source && !destination) continue;
        report_finding({.kind = "window_deregistered",
                        .message = format("rank %d deregisters a window while a %s of %zu bytes "
                                          "from rank %d %s it may still be on its way",
                                          window->rank, t->name, t->bytes, channel->source,
                                          source ? "out of" : "into"),
                        .hint = "flush the puts and wait for their signals in the kernel, and "
                                "synchronise the ranks, before the window goes",
                        .where = where,
                        .other = t->where});
      }
    }
  }
}

}  // namespace warploom::nccl
