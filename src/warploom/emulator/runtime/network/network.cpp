#include "network/network.h"

#include <algorithm>
#include <cstring>

#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/iterations.h"
#include "behavior/spoil.h"
#include "memory/memory.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

namespace {

// A member of the communicator, by the rank that reports show.
int shown_rank(const Channel& channel, int member) {
  const ncclComm& comm = *channel.set->clique->members[static_cast<std::size_t>(member)];
  return g_config.single_process ? comm.device : comm.process->rank;
}

std::string text_of(const Transfer& t) {
  return format("a %s of rank %d %s rank %d", t.name, t.channel->source,
                t.channel->get ? "from" : "to", t.channel->peer);
}

template <class Text>
void trace_at_target(const Transfer& t, Text&& text) {
  if (!g_tracing) return;
  const Channel& channel = *t.channel;
  record_event_of(shown_rank(channel, channel.get ? channel.source : channel.peer), nullptr,
                  t.where, text());
}

bool memory_alive(const Transfer& t, ncclWindow_t window, const void* p, const char* side) {
  const Allocation* allocation = window->live ? window->allocation : find_allocation(p);
  if (allocation && allocation->live) return true;
  report_finding({.kind = kinds::window_use_after_free,
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
  if (t.source_window) t.source_window->in_use--;
  if (t.source && t.bytes && memory_alive(t, t.source_window, t.source, "source")) {
    t.staged.assign(t.source, t.source + t.bytes);
  }
}

void trace_reading(const Transfer& t) {
  if (!g_tracing || t.read || !t.source) return;
  record_event_of(shown_rank(*t.channel, t.channel->source), nullptr, t.where,
                  format("the network reads the %zu bytes of ", t.bytes) + text_of(t));
}

void finish_counter(Transfer& t) {
  trace_reading(t);
  read_source(t);
  t.flushed = true;
  Counter* counter = std::exchange(t.counter, nullptr);
  counter->value++;
  trace_of(g_tracing ? shown_rank(*t.channel, t.channel->source) : 0, nullptr, t.where, [&] {
    return format("the counter of %s is now %llu", text_of(t).c_str(),
                  static_cast<unsigned long long>(counter->value));
  });
  counter->clock.join(t.counter_clock);
  counter->waiters.notify_all();
}

void land(Transfer& t) {
  if (t.landed) return;
  if (t.destination) {
    trace_at_target(t, [&] {
      return format("the %zu bytes of %s %sland", t.bytes, text_of(t).c_str(),
                    t.read ? "" : "are read and ");
    });
  }
  read_source(t);
  t.landed = true;
  if (t.destination_window) t.destination_window->in_use--;
  if (t.destination && !t.staged.empty() &&
      memory_alive(t, t.destination_window, t.destination, "destination")) {
    if (g_spoiling && t.channel->source != t.channel->peer) {
      const int from = t.channel->get ? t.channel->peer : t.channel->source;
      const auto& members = t.channel->set->clique->members;
      spoil(t.staged.data(), t.staged.size(), members[static_cast<std::size_t>(from)]->device);
    }
    std::memcpy(t.destination, t.staged.data(), t.staged.size());
  }
  t.staged = {};
  note_event();
}

void deliver_signal(Transfer& t) {
  if (t.strong) {
    for (auto& other : t.channel->pending) {
      if (other->sequence <= t.sequence) land(*other);
    }
  }
  land(t);
  Signal* signal = std::exchange(t.signal, nullptr);
  if (is_carrying() && !signal->carried) signal->carried = signal->value();
  *signal->word += t.amount;
  if (signal->notes) signal->notes->arrived(t.sent, t.amount);
  trace_at_target(t, [&] {
    return format("the %s signal of %s arrives: + %llu, now %llu", t.strong ? "strong" : "weak",
                  text_of(t).c_str(), static_cast<unsigned long long>(t.amount),
                  static_cast<unsigned long long>(signal->value()));
  });
  signal->clock.join(t.signal_clock);
  for (const LanePlace& place : t.before) signal->settled.push_back({place, true});
  signal->settled.push_back({t.place, false});
  signal->waiters.notify_all();
}

void remove_finished(Channel& channel) {
  std::erase_if(channel.pending, [](const auto& t) { return t->finished(); });
}

// Everything that is on its way. Entries that other rules have settled meanwhile are dropped when
// they are drawn.
class Network final : public Runnable {
 public:
  Network() : Runnable(Kind::Network) {}

  void add(std::shared_ptr<Transfer> transfer) {
    (transfer->told() ? told_ : plain_).push_back(std::move(transfer));
    enqueue(this);
  }

  void run() override {
    if (g_config.timing == NetTiming::Lazy) {
      step_lazily();
    } else {
      step_at_random();
    }
    if (!told_.empty() || !plain_.empty()) enqueue(this);
  }

 private:
  using List = std::vector<std::shared_ptr<Transfer>>;

  static std::shared_ptr<Transfer> take(List& list, std::size_t i) {
    std::swap(list[i], list.back());
    std::shared_ptr<Transfer> taken = std::move(list.back());
    list.pop_back();
    return taken;
  }

  void put_back(std::shared_ptr<Transfer> transfer) {
    if (transfer->finished()) return;
    (transfer->told() ? told_ : plain_).push_back(std::move(transfer));
  }

  // What somebody can wait for comes first, and forces no more than it must; puts of which nobody
  // is told come last.
  void step_lazily() {
    while (!told_.empty() || !plain_.empty()) {
      List& list = told_.empty() ? plain_ : told_;
      std::shared_ptr<Transfer> t = take(list, random_below(list.size()));
      const bool moves = t->told() || (told_.empty() && !t->landed);
      if (moves) {
        if (!t->told()) {
          land(*t);
        } else if (t->counter && (!t->signal || random_below(2))) {
          finish_counter(*t);
        } else {
          deliver_signal(*t);
        }
        remove_finished(*t->channel);
      }
      put_back(std::move(t));
      if (moves) return;
    }
  }

  void step_at_random() {
    const uint64_t drawn = random_below(told_.size() + plain_.size());
    std::shared_ptr<Transfer> t =
        drawn < told_.size() ? take(told_, drawn) : take(plain_, drawn - told_.size());
    switch (random_below(4)) {
      case 0:
        trace_reading(*t);
        read_source(*t);
        break;
      case 1:
        land(*t);
        break;
      case 2:
        if (t->counter) finish_counter(*t);
        break;
      default:
        if (t->signal) deliver_signal(*t);
        break;
    }
    remove_finished(*t->channel);
    put_back(std::move(t));
  }

  List told_, plain_;  // with a signal or counter to come, and without
};
Network g_network;

// Everything of a transfer happens when it arrives, and so in the order of arrival.
void send_timed(std::shared_ptr<Transfer> transfer) {
  const Journey journey = price_transfer(*transfer);
  at_time(journey.arrives, [transfer, journey] {
    const AtTime arrival(journey.arrives, journey.departs);
    land(*transfer);
    if (transfer->counter) finish_counter(*transfer);
    if (transfer->signal) deliver_signal(*transfer);
    remove_finished(*transfer->channel);
  });
}

}  // namespace

OpId Channel::operation_at(ChannelId lane, const Frames& where, const char* name) {
  for (const Operation& known : operations_) {
    if (known.lane != lane || known.pc != where.pc[0]) continue;
    if (std::ranges::equal(op_of(known.op).frames.pc, where.pc)) return known.op;
  }
  const OpId op = new_op({.kind = OpKind::Channel,
                          .channel = lane,
                          .rank = current_rank(),
                          .name = name,
                          .frames = where});
  operations_.push_back({lane, where.pc[0], op});
  return op;
}

Channel& channel(DevComm& dc, int peer, uint32_t context, bool get) {
  auto& lines = dc.lines[2 * context + get];
  if (lines.empty()) lines.resize(static_cast<std::size_t>(dc.set->clique->size));
  Channel*& line = lines[static_cast<std::size_t>(peer)];
  if (!line) {
    line = dc.set->channels.emplace_back(std::make_unique<Channel>()).get();
    line->set = dc.set;
    line->source = dc.rank;
    line->peer = peer;
    line->context = context;
    line->get = get;
    dc.sending.push_back(line);
  }
  return *line;
}

Channel* find_channel(const DevComm& dc, int peer, uint32_t context, bool get) {
  const auto& lines = dc.lines[2 * context + get];
  return lines.empty() ? nullptr : lines[static_cast<std::size_t>(peer)];
}

void send(std::shared_ptr<Transfer> transfer) {
  Transfer& t = *transfer;
  Channel& channel = *t.channel;
  g_stats.puts++;
  if (channel.source != channel.peer) {
    if (g_poisoning) note_communication();
    g_stats.put_bytes += t.bytes;
  }
  channel.pending.push_back(transfer);
  if (t.source_window && !t.read) t.source_window->in_use++;
  if (t.destination_window) t.destination_window->in_use++;
  if (g_timed) return send_timed(std::move(transfer));
  if (g_config.timing == NetTiming::Eager) {
    land(t);
    if (t.counter) finish_counter(t);
    if (t.signal) deliver_signal(t);
    remove_finished(channel);
    return;
  }
  g_network.add(std::move(transfer));
}

void read_sources(Channel& channel, uint32_t upto) {
  for (auto& t : channel.pending) {
    if (t->sequence > upto) continue;
    trace_reading(*t);
    read_source(*t);
  }
}

void note_flushed(Channel& channel, LanePlace upto) {
  for (auto& t : channel.pending) {
    t->flushed |= t->place.lane == upto.lane && t->place.number <= upto.number;
  }
}

void land(Channel& channel, uint32_t upto) {
  for (auto& t : channel.pending) {
    if (t->sequence <= upto) land(*t);
  }
  remove_finished(channel);
}

void deliver_from(DevComm& dc) {
  for (Channel* channel : dc.sending) {
    for (auto& t : channel->pending) {
      land(*t);
      if (t->counter) finish_counter(*t);
      if (t->signal) deliver_signal(*t);
    }
    remove_finished(*channel);
  }
}

void check_flushed(const DevComm& dc) {
  for (const Channel* channel : dc.sending) {
    for (const auto& t : channel->pending) {
      if (t->flushed || t->landed || t->sequence <= channel->fenced) continue;
      report_finding({.kind = kinds::use_after_destroy,
                      .message = format("rank %d destroys its device communicator while a %s to "
                                        "rank %d may not have left: nothing flushed it",
                                        dc.rank, t->name, channel->peer),
                      .hint = "flush the context at the end of the kernel, after its last put or "
                              "signal",
                      .other = t->where});
    }
  }
}

void check_quiet(ncclWindow_t window, const Frames& where) {
  if (!window->in_use) return;
  for (DevComm* dc : all_devcomms()) {
    if (dc->set->clique != window->set->clique) continue;
    for (Channel* channel : dc->sending) {
      for (auto& t : channel->pending) {
        const bool source = t->source_window == window && !t->read;
        const bool destination = t->destination_window == window && !t->landed;
        if (!source && !destination) continue;
        report_finding({.kind = kinds::window_deregistered,
                        .message = format("rank %d deregisters a window while a %s of %zu bytes "
                                          "from rank %d %s it may still be on its way",
                                          window->rank, t->name, t->bytes, channel->source,
                                          source ? "out of" : "into"),
                        .hint = "flush the puts and wait for their signals in the kernel, and "
                                "synchronize the ranks, before the window goes",
                        .where = where,
                        .other = t->where});
      }
    }
  }
}

}  // namespace warploom::nccl
