// Signals: arrival rules, waits, resets and shadows.
#include <algorithm>

#include "base/polling.h"
#include "behavior/carried.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "network/gin.h"
#include "order/completions.h"
#include "order/history.h"

namespace warploom::nccl {

namespace {

Signal& signal_at(DevCommSet& set, ncclWindow_t window, int rank, std::size_t offset,
                  const char* what) {
  check_window(window, what);
  const ncclWindow_t member = window->set->members[static_cast<std::size_t>(rank)];
  check_window(member, what);
  if (offset % sizeof(uint64_t) || offset + sizeof(uint64_t) > member->bytes) {
    fail({.kind = kinds::signal_index,
          .message = format("%s: a signal at offset %zu of a window of %zu bytes", what, offset,
                            member->bytes),
          .hint = "a signal takes 8 aligned bytes inside of the window"});
  }
  auto* word = reinterpret_cast<uint64_t*>(member->base + offset);
  auto& slot = set.by_address[word];
  if (!slot) {
    slot = std::make_unique<Signal>();
    slot->word = word;
  }
  return *slot;
}

Signal& signal_number(DevComm& dc, uint32_t context, uint32_t index, const char* what) {
  if (!owns_signal(*dc.set, index)) {
    fail({.kind = kinds::signal_index,
          .message = format("%s: signal %u is used, but %u were asked for", what, index,
                            dc.set->signal_ranges.front().second),
          .hint = "raise ginSignalCount in the requirements",
          .other = dc.created});
  }
  return dc.signals[context].at(index);
}

void check_mode(Signal& signal, const RemoteAction& action, const Frames& where) {
  const auto mode = action.increment ? Signal::Mode::Increments : Signal::Mode::Additions;
  if (signal.mode == Signal::Mode::Fresh) {
    signal.mode = mode;
    signal.mode_set = where;
  } else if (signal.mode != mode) {
    report_finding({.kind = kinds::signal_mixed_ops,
                    .message = format("%s gets both SignalInc and SignalAdd without a reset in "
                                      "between",
                                      signal_text(action).c_str()),
                    .hint = "use one of the two for a signal, or two signals",
                    .where = where,
                    .other = signal.mode_set});
  }
}

}  // namespace

void LastOfLanes::settle() {
  std::ranges::sort(places_, [](const LanePlace& a, const LanePlace& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.number > b.number;
  });
  const auto rest = std::ranges::unique(places_, {}, &LanePlace::lane);
  places_.erase(rest.begin(), rest.end());
  settle_at_ = std::max(kFew, 2 * places_.size());
}

const std::vector<LanePlace>& LastOfLanes::all() {
  settle();
  return places_;
}

void LastOfLanes::clear() {
  places_.clear();
  settle_at_ = kFew;
}

const Clock& Signal::order() {
  for (const Settled& put : settled) {
    if (put.strong) {
      clock.channel_landed(put.put.lane, put.put.number);
    } else {
      clock.channel_landed_single(put.put.lane, put.put.number);
    }
  }
  settled.clear();
  return clock;
}

std::string signal_name(const SignalName& name, uint32_t context) {
  if (name.window) return format("the signal at offset %zu of a window", name.offset);
  return format("signal %u of context %u", name.index, context);
}

std::string signal_text(const RemoteAction& action) {
  if (action.kind == RemoteAction::Address) {
    return format("the signal at offset %zu of a window", action.offset);
  }
  return format("signal %u", action.signal);
}

Signal& signal_of(DevComm& dc, uint32_t context, const SignalName& name, const char* what) {
  if (name.window) return signal_at(*dc.set, name.window, dc.rank, name.offset, what);
  return signal_number(dc, context, name.index, what);
}

Signal& target_signal(DevComm& dc, Channel& channel, const RemoteAction& action, const char* what) {
  const int peer = channel.peer;
  if (action.kind == RemoteAction::Address) {
    return signal_at(*dc.set, action.window, peer, action.offset, what);
  }
  DevComm& target = *dc.set->members[static_cast<std::size_t>(peer)];
  if (!target.live) {
    fail({.kind = kinds::use_after_destroy,
          .message =
              format("%s to rank %d, which has destroyed its device communicator", what, peer),
          .hint = "synchronize the ranks before ncclDevCommDestroy",
          .other = target.destroyed});
  }
  Channel::Raised& raised = channel.raised[action.signal % std::size(channel.raised)];
  if (!raised.signal || raised.number != action.signal) {
    raised = {action.signal, &signal_number(target, channel.context, action.signal, what)};
  }
  return *raised.signal;
}

void note_issue(Signal& signal, const RemoteAction& action, const Clock& clock,
                const Channel& channel, LanePlace place, const Frames& where) {
  check_mode(signal, action, where);
  if (g_config.race && signal.was_reset && !covers(clock, moment_of(signal.reset))) {
    // Shown as the reset's: the sender's thread is the second place.
    Fiber* sender = std::exchange(g_current, nullptr);
    report_finding({.kind = kinds::signal_reset_race,
                    .message = format("rank %d resets %s, and rank %d may send the next one before "
                                      "or after that",
                                      channel.peer, signal_text(action).c_str(), channel.source),
                    .hint = "order the reset before the next signal: a barrier between the two",
                    .where = signal.reset_where,
                    .other = where,
                    .rank = op_of(signal.reset.op).rank,
                    .kernel = op_of(signal.reset.op).name,
                    .other_rank = channel.source});
    g_current = sender;
  }
  signal.issued.note(place);
  signal.last_issued = where;
}

namespace {

// What a program is told of a signal's value: it may keep what it likes there from one iteration to
// the next.
uint64_t told_value(Signal& signal, const DevComm& dc) {
  if (is_carrying() && !signal.told) {
    signal.told = true;
    signal.other =
        signal.carried.value_or(signal.value()) != 0 && note_carried_signal(dc.comm->device);
  }
  constexpr uint64_t kOther = 0x5353;
  return signal.other ? signal.value() ^ kOther : signal.value();
}

}  // namespace

uint64_t read_signal(const Gin& gin, const SignalName& name, int bits, Order order) {
  DevComm& dc = require_gin(gin, "ncclGin::readSignal");
  Signal& signal = signal_of(dc, gin.context, name, "ncclGin::readSignal");
  note_poll(signal.word, sizeof *signal.word);
  note_look(signal.word, sizeof *signal.word);
  trace([&] {
    return format("ncclGin::readSignal: %s has %llu", signal_name(name, gin.context).c_str(),
                  static_cast<unsigned long long>(signal.value()));
  });
  observe(signal.order(), order);
  return told_value(signal, dc) & (~uint64_t{0} >> (64 - bits));
}

namespace {

// A wait for a signal; lies on the stack of who waits.
struct SignalWait {
  const Signal& signal;
  const SignalName& name;
  uint64_t least;
  int bits, rank;
  uint32_t context;

  bool over() const { return at_least(signal.value(), least, bits); }
  WaitReason reason(const char* op) const {
    return {op,
            [this] {
              return format("%s on rank %d has %llu, needs %llu",
                            signal_name(name, context).c_str(), rank,
                            static_cast<unsigned long long>(signal.value()),
                            static_cast<unsigned long long>(least));
            },
            true};
  }
  // For the reads that follow: what there was.
  void note(Signal& noted) const {
    if (!g_config.race) return;
    WaitOver wait;
    wait.name = name;
    wait.context = context;
    wait.least = least;
    wait.value = noted.value();
    wait.where = capture_frames();
    wait.moment = moment_of(current_actor(wait.where.pc[0]));
    noted.notes_of(rank).waited(std::move(wait), bits);
  }
};

}  // namespace

uint64_t wait_signal(const Gin& gin, const SignalName& name, uint64_t least, int bits, Order order,
                     const char* op) {
  DevComm& dc = require_gin(gin, op);
  Signal& signal = signal_of(dc, gin.context, name, op);
  const SignalWait wait{signal, name, least, bits, dc.rank, gin.context};
  signal.waiters.wait_until([&] { return wait.over(); }, wait.reason(op));
  wait.note(signal);
  observe(signal.order(), order);
  return told_value(signal, dc);
}

bool wait_signal_for(const Gin& gin, const SignalName& name, uint64_t least, int bits, Order order,
                     uint64_t cycles) {
  constexpr const char* kName = "ncclGin::waitSignal";
  DevComm& dc = require_gin(gin, kName);
  Signal& signal = signal_of(dc, gin.context, name, kName);
  const SignalWait wait{signal, name, least, bits, dc.rank, gin.context};
  if (!signal.waiters.wait_or_expire([&] { return wait.over(); }, wait.reason(kName), cycles)) {
    return false;
  }
  wait.note(signal);
  observe(signal.order(), order);
  return true;
}

void reset_signal(const Gin& gin, const SignalName& name) {
  DevComm& dc = require_gin(gin, "ncclGin::resetSignal");
  Signal& signal = signal_of(dc, gin.context, name, "ncclGin::resetSignal");
  trace([&] { return "ncclGin::resetSignal of " + signal_name(name, gin.context); });
  const Frames where = capture_frames();
  const Actor actor = current_actor(where.pc[0]);
  if (g_config.race) {
    const Clock known = known_clock(where);
    for (const LanePlace& last : signal.issued.all()) {
      if (knows_landing(known, last.lane, last.number)) continue;
      report_finding({.kind = kinds::signal_reset_race,
                      .message = format("%s is reset on rank %d while an arrival is not ordered "
                                        "before it",
                                        signal_name(name, gin.context).c_str(), dc.rank),
                      .hint = "wait for all arrivals before the reset, and let the senders go on "
                              "only after it",
                      .where = where,
                      .other = signal.last_issued});
      break;
    }
  }
  if (is_carrying()) signal.carried = 0;
  signal.other = false;
  *signal.word = 0;
  signal.clock = {};
  signal.settled.clear();
  signal.mode = Signal::Mode::Fresh;
  signal.issued.clear();
  if (signal.notes) signal.notes->reset();
  signal.was_reset = true;
  signal.reset = actor;
  signal.reset.clock = nullptr;
  signal.reset_where = where;
  if (!name.window) write_shadow(gin, name.index, 0);
  note_event();
}

uint64_t* shadow_pointer(const Gin& gin, uint32_t index) {
  DevComm& dc = require_gin(gin, "ncclGin::getSignalShadowPtr");
  signal_number(dc, gin.context, index, "ncclGin::getSignalShadowPtr");
  const auto signals = static_cast<std::size_t>(dc.set->signals);
  return dc.shadows + gin.context * signals + index;
}

uint64_t read_shadow(const Gin& gin, uint32_t index) {
  uint64_t* shadow = shadow_pointer(gin, index);
  access_read(current_actor(capture_frames().pc[0]), shadow, sizeof *shadow);
  return *shadow;
}

void write_shadow(const Gin& gin, uint32_t index, uint64_t value) {
  uint64_t* shadow = shadow_pointer(gin, index);
  access_write(current_actor(capture_frames().pc[0]), shadow, sizeof *shadow);
  *shadow = value;
}

void increase_shadow(const Gin& gin, uint32_t index, uint64_t delta) {
  uint64_t* shadow = shadow_pointer(gin, index);
  access_atomic(current_actor(capture_frames().pc[0]), shadow, sizeof *shadow, true,
                {Scope::System, Extent::Any});
  *shadow += delta;
}

}  // namespace warploom::nccl
