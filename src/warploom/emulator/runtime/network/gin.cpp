// GIN operations: put, get, signal, flush and counters.
#include "network/gin.h"

#include <algorithm>

#include "base/polling.h"
#include "base/pool.h"
#include "host/program_range.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "order/completions.h"
#include "timing/transport_time.h"

namespace warploom::nccl {

namespace {

void check_extent(const ncclWindow_vidmem& window, std::size_t offset, std::size_t bytes,
                  const char* what, const char* side) {
  if (offset <= window.bytes && bytes <= window.bytes - offset) return;
  fail({.kind = kinds::window_range,
        .message = format("%s: %zu bytes at offset %zu of the %s window, which has %zu bytes", what,
                          bytes, offset, side, window.bytes),
        .hint = "offsets and sizes count bytes, not elements; compare them with what was "
                "registered",
        .other = window.registered});
}

// The member of `window` on `rank`, checked for an access of `bytes` there.
char* locate(const DevComm& dc, ncclWindow_t window, int rank, std::size_t offset,
             std::size_t bytes, const char* what, const char* side) {
  check_window(window, what);
  if (window->set->clique != dc.set->clique) {
    fail({.kind = kinds::window_memory,
          .message = format("%s: the %s window belongs to another communicator", what, side),
          .hint = "register the buffer with the communicator that the device communicator was "
                  "made from",
          .other = window->registered});
  }
  if (window->rank != dc.rank) {
    fail({.kind = kinds::window_order_mismatch,
          .message = format("%s: the %s window is the handle of rank %d, used on rank %d", what,
                            side, window->rank, dc.rank),
          .hint = "each rank passes the handle that its own ncclCommWindowRegister returned",
          .other = window->registered});
  }
  const ncclWindow_t member = window->set->members[static_cast<std::size_t>(rank)];
  check_window(member, what);
  check_extent(*member, offset, bytes, what, side);
  return member->base + offset;
}

Counter& counter_of(DevComm& dc, uint32_t context, uint32_t index, const char* what) {
  if (index >= static_cast<uint32_t>(dc.set->counters)) {
    fail({.kind = kinds::counter_index,
          .message = format("%s: counter %u is used, but %d were asked for", what, index,
                            dc.set->counters),
          .hint = "raise ginCounterCount in the requirements",
          .other = dc.created});
  }
  return dc.counters[context][index];
}

// The data part of a put or get: checks it, enters its accesses, and fills the transfer.
void prepare_data(DevComm& dc, const PutArgs& args, int peer, Transfer& t, const Actor& actor) {
  const bool get = t.channel->get;
  const int source_rank = get ? peer : dc.rank, destination_rank = get ? dc.rank : peer;
  t.bytes = args.bytes;
  if (args.value) {
    t.staged.assign(static_cast<const char*>(args.value),
                    static_cast<const char*>(args.value) + args.bytes);
    t.read = t.flushed = true;  // the value travels in the request
  } else {
    t.source =
        locate(dc, args.source, source_rank, args.source_offset, args.bytes, args.name, "source");
    t.source_window = args.source->set->members[static_cast<std::size_t>(source_rank)];
    access_read(actor, t.source, t.bytes);
  }
  t.destination = locate(dc, args.destination, destination_rank, args.destination_offset,
                         args.bytes, args.name, "destination");
  t.destination_window = args.destination->set->members[static_cast<std::size_t>(destination_rank)];
  access_write(actor, t.destination, t.bytes);
}

bool is_strong(const DevComm& dc, const RemoteAction& action, const char* what) {
  const DevCommSet& set = *dc.set;
  if (action.kind == RemoteAction::Address && !set.va_signals) {
    fail({.kind = kinds::gin_not_enabled,
          .message =
              format("%s: a signal in a window is used, but ginVaSignalsRequired is false", what),
          .hint = "leave ginVaSignalsRequired true in the requirements",
          .other = dc.created});
  }
  switch (action.strength) {
    case Strength::Weak:
      return false;
    case Strength::Legacy:
      return set.strong_legacy;
    default:
      break;
  }
  if (!set.strong_signals) {
    fail({.kind = kinds::gin_not_enabled,
          .message =
              format("%s: a strong signal is used, but ginStrongSignalsRequired is false", what),
          .hint = "leave ginStrongSignalsRequired true in the requirements, or use a weak signal",
          .other = dc.created});
  }
  return true;
}

void attach_signal(DevComm& dc, const PutArgs& args, Transfer& t, const Clock& clock) {
  Channel& channel = *t.channel;
  Signal& signal = target_signal(dc, channel, args.remote, args.name);
  t.strong = is_strong(dc, args.remote, args.name);
  note_issue(signal, args.remote, clock, channel, t.place, t.where);
  if (g_config.race) {
    const OpId by = current_actor(t.where.pc[0]).op;
    t.sent = signal.notes_of(channel.peer).sent(dc.rank, by, t.where);
  }
  t.signal = &signal;
  if (t.strong) t.before = channel.lanes.before(clock);
  t.amount = args.remote.value;
  t.signal_clock = clock;
}

// A transfer that the running thread issues now; `clock` is set to what is ordered before its next.
std::shared_ptr<Transfer> new_transfer(Channel& channel, const char* name, Clock& clock) {
  auto transfer = std::allocate_shared<Transfer>(PoolAllocator<Transfer>());
  transfer->channel = &channel;
  transfer->sequence = ++channel.issued;
  transfer->name = name;
  transfer->where = capture_frames();
  const Actor issuer = current_actor(transfer->where.pc[0]);
  clock = release_clock();
  transfer->place = channel.lanes.add(issuer, clock, transfer->sequence);
  return transfer;
}

Actor actor_for(const Transfer& t, const Clock& clock) {
  return {.op = t.channel->operation_at(t.place.lane, t.where, t.name),
          .time = t.place.number,
          .clock = &clock,
          .pc = t.where.pc[0]};
}

std::string transfer_text(const Gin& gin, const PutArgs& args, int peer, bool get) {
  std::string text = args.name;
  if (args.bytes) text += format(" of %zu bytes", args.bytes);
  text += format(" %s rank %d, context %u", get ? "from" : "to", peer, gin.context);
  if (args.remote.kind != RemoteAction::None) {
    text += format(", with %s + %llu", signal_text(args.remote).c_str(),
                   static_cast<unsigned long long>(args.remote.value));
  }
  if (args.local.present) text += format(", with counter %u", args.local.counter);
  return text;
}

// Of the first `upto` puts in the turn of this schedule, those that were issued before `now`.
std::vector<LanePlace> issued_before(const Channel& channel, uint32_t upto, const Clock& now) {
  std::vector<LanePlace> places = channel.lanes.before(now);
  const std::vector<LanePlace> turn = channel.lanes.upto(upto);
  for (LanePlace& place : places) {
    const auto same = std::ranges::find(turn, place.lane, &LanePlace::lane);
    place.number = same == turn.end() ? 0 : std::min(place.number, same->number);
  }
  return places;
}

// What a flush of a channel settles: sources were read, and gets have arrived. Others may have
// issued more by now, which another schedule would issue behind it.
void settle(Channel* channel, uint32_t upto, const Clock& now, Clock& clock) {
  if (!channel || upto == 0) return;
  await_settled(*channel);
  if (channel->get) {
    land(*channel, upto);
  } else {
    read_sources(*channel, upto);
  }
  for (const LanePlace& place : issued_before(*channel, upto, now)) {
    note_flushed(*channel, place);
    if (channel->get) {
      clock.channel_landed(place.lane, place.number);
    } else {
      clock.channel_read(place.lane, place.number);
    }
  }
}

}  // namespace

int reach_peer(const DevComm& dc, const Team& team, int peer, const char* what) {
  const DevCommSet& set = *dc.set;
  const int ranks = set.clique->size;
  if (peer < 0 || peer >= team.ranks) {
    fail({.kind = kinds::peer_out_of_range,
          .message = format("%s: peer %d of a team of %d ranks", what, peer, team.ranks),
          .hint = "peers are numbered inside of the team, from 0 to nRanks - 1"});
  }
  const int world = dc.rank + (peer - team.rank) * team.stride;
  if (world < 0 || world >= ranks) {
    fail({.kind = kinds::peer_out_of_range,
          .message = format("%s: peer %d of the team is rank %d of %d", what, peer, world, ranks),
          .hint = "make the team with ncclTeamWorld, ncclTeamLsa or ncclTeamRail of this device "
                  "communicator"});
  }
  const int stride = set.connection == Connection::Rail     ? set.clique->lsa_size
                     : set.connection == Connection::Stride ? set.stride
                                                            : 1;
  if ((world - dc.rank) % stride != 0) {
    fail({.kind = kinds::peer_off_rail,
          .message = format("%s: rank %d is not on the rail of rank %d, and GIN connects ranks of "
                            "one rail only (every %d-th rank)",
                            what, world, dc.rank, stride),
          .hint = "ask for NCCL_GIN_CONNECTION_FULL, or pass on through a rank of the rail",
          .other = dc.created});
  }
  return world;
}

bool acquires(Order order) { return order != Order::Relaxed && order != Order::Release; }
bool releases(Order order) { return order != Order::Relaxed && order != Order::Acquire; }

void observe(const Clock& clock, Order order) {
  GpuThread* thread = current_thread();
  if (acquires(order) || !thread) {
    acquire_clock(clock);
  } else {
    thread->block->has_pending = true;
    // What the network wrote: a fence among the threads of a block does not reach it.
    thread->pending[static_cast<int>(Scope::Device)].join(clock);
  }
}

bool at_least(uint64_t value, uint64_t least, int bits) {
  const uint64_t mask = ~uint64_t{0} >> (64 - bits);
  return ((value - least) & mask) <= (mask >> 1);
}

void check_remote_stores(const DevComm& dc, int peer, Scope released, const char* what) {
  if (released == Scope::System) return;
  const GpuThread* self = current_thread();
  if (!self || !self->block->stored_to_peers) return;
  const int device = dc.set->clique->members[static_cast<std::size_t>(peer)]->device;
  for (const GpuThread& thread : self->block->threads) {
    if (thread.stored_to != device || device == self->block->kernel->device) continue;
    report_finding({.kind = kinds::scope_too_narrow,
                    .message = format("%s announces stores of thread %u to rank %d's memory, but "
                                      "releases them to this device only",
                                      what, thread.linear, peer),
                    .hint = "call __threadfence_system() after the stores, or pass "
                            "cuda::thread_scope_system as the required release"});
    return;
  }
}

void put(const Gin& gin, const PutArgs& args) {
  DevComm& dc = require_gin(gin, args.name);
  const int peer = reach_peer(dc, args.team, args.peer, args.name);
  trace([&] { return transfer_text(gin, args, peer, false); });
  Channel& line = channel(dc, peer, gin.context, false);
  Clock clock;
  auto transfer = new_transfer(line, args.name, clock);
  Transfer& t = *transfer;
  const bool data = args.destination || args.source || args.value || args.bytes;
  if (data) prepare_data(dc, args, peer, t, actor_for(t, clock));
  if (args.remote.kind != RemoteAction::None) {
    check_remote_stores(dc, peer, args.released, args.name);
    attach_signal(dc, args, t, clock);
  }
  if (args.local.present) {
    t.counter = &counter_of(dc, gin.context, args.local.counter, args.name);
    t.counter_clock.channel_read(t.place.lane, t.place.number);
    t.counter->issued.note(t.place);
    t.counter->last_issued = t.where;
  }
  send(std::move(transfer));
}

void get(const Gin& gin, const PutArgs& args) {
  DevComm& dc = require_gin(gin, args.name);
  const int peer = reach_peer(dc, args.team, args.peer, args.name);
  trace([&] { return transfer_text(gin, args, peer, true); });
  Clock clock;
  auto transfer = new_transfer(channel(dc, peer, gin.context, true), args.name, clock);
  prepare_data(dc, args, peer, *transfer, actor_for(*transfer, clock));
  send(std::move(transfer));
}

void flush(const Gin& gin, Order order) {
  DevComm& dc = require_gin(gin, "ncclGin::flush");
  trace([&] { return format("ncclGin::flush of context %u", gin.context); });
  Clock clock;
  const Clock now = release_clock();
  for (Channel* line : dc.sending) {
    if (line->context == gin.context) settle(line, line->issued, now, clock);
  }
  observe(clock, order);
}

void flush_async(const Gin& gin, Team team, int peer, uint64_t request[2]) {
  DevComm& dc = require_gin(gin, "ncclGin::flushAsync");
  const int world = reach_peer(dc, team, peer, "ncclGin::flushAsync");
  trace([&] { return format("ncclGin::flushAsync to rank %d, context %u", world, gin.context); });
  const Channel* puts = find_channel(dc, world, gin.context, false);
  const Channel* gets = find_channel(dc, world, gin.context, true);
  program_writes(request, 2 * sizeof *request);
  request[0] = uint64_t{gin.context} << 32 | (static_cast<uint32_t>(world) + 1);
  request[1] = uint64_t{puts ? puts->issued : 0} << 32 | (gets ? gets->issued : 0);
}

void wait_request(const Gin& gin, uint64_t request[2], Order order) {
  DevComm& dc = require_gin(gin, "ncclGin::wait");
  program_reads(request, 2 * sizeof *request);
  const uint64_t world = (request[0] & 0xFFFFFFFF) - 1;
  const auto context = static_cast<uint32_t>(request[0] >> 32);
  if (world >= static_cast<uint64_t>(dc.set->clique->size)) {
    fail({.kind = kinds::peer_out_of_range,
          .message = "ncclGin::wait is called with a request that flushAsync did not fill",
          .hint = "pass the request of a flushAsync of the same context"});
  }
  if (context != gin.context) {
    fail({.kind = kinds::context_index,
          .message = format("ncclGin::wait on context %u gets a request of a flushAsync on context "
                            "%u",
                            gin.context, context),
          .hint = "wait with an ncclGin of the context whose flushAsync filled the request"});
  }
  Clock clock;
  const auto peer = static_cast<int>(world);
  trace([&] { return format("ncclGin::wait for the flush to rank %d", peer); });
  const Clock now = release_clock();
  settle(find_channel(dc, peer, gin.context, false), static_cast<uint32_t>(request[1] >> 32), now,
         clock);
  settle(find_channel(dc, peer, gin.context, true), static_cast<uint32_t>(request[1]), now, clock);
  observe(clock, order);
}

uint64_t read_counter(const Gin& gin, uint32_t index, int bits, Order order) {
  DevComm& dc = require_gin(gin, "ncclGin::readCounter");
  Counter& counter = counter_of(dc, gin.context, index, "ncclGin::readCounter");
  note_poll(&counter.value, sizeof counter.value);
  note_look(&counter.value, sizeof counter.value);
  trace([&] {
    return format("ncclGin::readCounter: counter %u of context %u has %llu", index, gin.context,
                  static_cast<unsigned long long>(counter.value));
  });
  observe(counter.clock, order);
  return counter.value & (~uint64_t{0} >> (64 - bits));
}

bool wait_counter(const Gin& gin, uint32_t index, uint64_t least, int bits, Order order,
                  uint64_t cycles) {
  DevComm& dc = require_gin(gin, "ncclGin::waitCounter");
  Counter& counter = counter_of(dc, gin.context, index, "ncclGin::waitCounter");
  const auto complete = [&] { return at_least(counter.value, least, bits); };
  const WaitReason reason{"ncclGin::waitCounter",
                          [&counter, index, least, context = gin.context] {
                            return format("counter %u of context %u has %llu, needs %llu", index,
                                          context, static_cast<unsigned long long>(counter.value),
                                          static_cast<unsigned long long>(least));
                          },
                          true};
  if (cycles == kForever) {
    counter.waiters.wait_until(complete, reason);
  } else if (!counter.waiters.wait_or_expire(complete, reason, cycles)) {
    return false;
  }
  observe(counter.clock, order);
  return true;
}

Clock known_clock(const Frames& where) {
  Clock known = *current_actor(where.pc[0]).clock;
  if (const GpuThread* thread = current_thread()) {
    for (const Clock& seen : thread->pending) known.join(seen);
  }
  return known;
}

// An increment that is on its way comes before or after the reset.
static void check_counter_reset(Counter& counter, uint32_t index, uint32_t context, int rank) {
  if (!g_config.race) return;
  const Frames where = capture_frames();
  const Clock known = known_clock(where);
  for (const LanePlace& last : counter.issued.all()) {
    if (knows_reading(known, last.lane, last.number)) continue;
    report_finding({.kind = kinds::signal_reset_race,
                    .message = format("counter %u of context %u is reset on rank %d while an "
                                      "increment is not ordered before it",
                                      index, context, rank),
                    .hint = "wait for the counter to have all increments before the reset",
                    .where = where,
                    .other = counter.last_issued});
    return;
  }
}

void reset_counter(const Gin& gin, uint32_t index) {
  DevComm& dc = require_gin(gin, "ncclGin::resetCounter");
  Counter& counter = counter_of(dc, gin.context, index, "ncclGin::resetCounter");
  trace([&] { return format("ncclGin::resetCounter of counter %u", index); });
  check_counter_reset(counter, index, gin.context, dc.rank);
  counter.issued.clear();
  counter.value = 0;
  counter.clock = {};
}

}  // namespace warploom::nccl
