// How the data of one-sided calls moves, and when.
#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "base/polling.h"
#include "base/stats.h"
#include "behavior/carried.h"
#include "behavior/inputs.h"
#include "behavior/results.h"
#include "host/process_heap.h"
#include "memory/memory.h"
#include "memory/sides.h"
#include "mpi/mpi_win_history.h"
#include "mpi/mpi_windows.h"
#include "order/history.h"
#include "schedule/scheduler.h"
#include "timing/timing.h"
#include "timing/transport_time.h"

namespace warploom::mpi {

namespace {

// Is the memory of the target's window there still? It was when the window was made.
bool still_lives(const RmaCall& call, const char* p, std::size_t bytes) {
  bool lives = true;
  if (in_arena(p)) {
    const Allocation* allocation = find_allocation(p);
    lives = allocation && allocation->live;
  } else if (in_heaps(p)) {
    lives = heap_holds(p) && heap_holds(p + bytes - 1);
  }
  if (lives) return true;
  report_finding({.kind = kinds::use_after_free,
                  .message = format("%s reaches %zu bytes of a window on rank %d whose memory has "
                                    "been freed",
                                    call.what, bytes, call.target),
                  .hint = "free the window first (MPI_Win_free), then its memory",
                  .where = call.where,
                  .rank = call.origin});
  return false;
}

Actor actor_of_call(const RmaCall& call) { return {.op = call.id, .clock = &call.clock}; }

// Accumulations of one place are atomic, element by element.
void enter_atomic(const RmaCall& call, const char* p, std::size_t bytes, bool writes) {
  const std::size_t width = built_in_bytes(call.element);
  for (std::size_t at = 0; width && at + width <= bytes; at += width) {
    access_atomic(actor_of_call(call), p + at, width, writes, atomicity(Scope::System, width));
  }
}

// Stores into the target's memory, on behalf of the call.
void store_at(Window& window, RmaCall& call, char* p, const char* data, std::size_t bytes) {
  const Delivered delivered(!call.data.origin.uncounted);
  if (emulated(p) && !call.accumulates()) access_write(actor_of_call(call), p, bytes);
  g_stats.mpi_bytes += bytes;
  std::memcpy(p, data, bytes);
  const Origin& origin = call.data.origin;
  if (origin.hidden) note_device_stores(p, bytes);
  const int target = window.comm->world[static_cast<std::size_t>(call.target)];
  if (origin.computed && host_can_load(p)) note_results(bytes, target);
  if (origin.hidden && !emulated(p)) {
    Bytes copy;
    if (!call.accumulates()) copy.assign(data, data + bytes);
    copy.origin = origin;
    window.part(call.target)
        .arrived.push_back(
            {p, bytes, std::move(copy), call.element, call.epoch, call.origin, call.time});
  }
  note_event();
}

Bytes load_from(const RmaCall& call, const char* p, std::size_t bytes) {
  if (emulated(p) && !call.accumulates()) access_read(actor_of_call(call), p, bytes);
  Bytes data(p, p + bytes);
  const bool of_device = on_device_side(p);
  data.origin = {.computed = of_device,
                 .uncounted = !emulated(p) || !is_carrying(),
                 .hidden = of_device && !host_can_load(p)};
  return data;
}

// Does the call store at all where it finds `now`?
bool stores(const RmaCall& call, const Bytes& now) {
  if (call.kind != Rma::Swap) return call.op != MPI_NO_OP;
  return std::ranges::equal(now, call.compared);
}

// What the target's elements become.
Bytes next_value(const RmaCall& call, const Bytes& now) {
  if (!stores(call, now)) return now;
  if (call.kind == Rma::Swap || call.op == MPI_REPLACE) return call.data;
  Bytes next = now;
  combine(next, call.data, call.element, call.op, call.what);
  return next;
}

// A loop that fetches the same value from one place waits for somebody to change it.
void note_fetch(Window& window, const RmaCall& call, bool changes) {
  Path& path = window.path(call.origin, call.target);
  const std::size_t at = call.pieces.empty() ? 0 : call.pieces.front().offset;
  const bool again = !changes && path.fetched_at == at && path.fetched == call.fetched;
  path.fetched_at = changes ? ~std::size_t{0} : at;
  path.fetched.assign(call.fetched.begin(), call.fetched.end());
  if (again) poll_current();
}

void accumulate(Window& window, RmaCall& call, char* base) {
  for (const Piece& piece : call.pieces) {  // one, as types with gaps are refused
    char* p = base + piece.offset;
    if (!piece.bytes || !still_lives(call, p, piece.bytes)) continue;
    call.fetched = load_from(call, p, piece.bytes);
    const bool changes = stores(call, call.fetched);
    if (piece.bytes == built_in_bytes(call.element)) {
      if (call.fetches()) call.learnt.join(window.released[p]);
      if (changes) window.released[p].join(call.clock);
    }
    if (emulated(p)) enter_atomic(call, p, piece.bytes, changes);
    if (!changes) continue;
    const Bytes next = next_value(call, call.fetched);
    store_at(window, call, p, next.data(), std::min(next.size(), piece.bytes));
  }
}

void land_one(Window& window, RmaCall& call) {
  char* base = window.part(call.target).base;
  if (call.accumulates()) {
    accumulate(window, call, base);
  } else {
    std::size_t done = 0;
    for (const Piece& piece : call.pieces) {
      char* p = base + piece.offset;
      std::size_t bytes = piece.bytes;
      if (call.kind == Rma::Put) bytes = std::min(bytes, call.data.size() - done);
      if (!bytes || !still_lives(call, p, bytes)) continue;
      if (call.kind == Rma::Put) {
        store_at(window, call, p, call.data.data() + done, bytes);
      } else {
        call.fetched.append(load_from(call, p, bytes));
      }
      done += bytes;
    }
  }
  if (call.kind == Rma::Get && call.target != call.origin) {
    leave_device(window.part(call.target).device, call.element, call.fetched);
  }
  call.landed = true;
  const auto& history = window.part(call.target).history;
  if (history && !call.updates() && call.epoch == Epoch::Locked) history->learn(call);
}

void read_source(RmaCall& call) {
  if (call.read) return;
  call.read = true;
  if (!call.source || call.source_count == 0) return;
  call.data = gather_elements(call.source, call.source_count, call.source_type, call.what);
  if (call.target != call.origin) leave_device(current_host().device, call.element, call.data);
}

// May it reach its target now? And what it must not overtake: MPI orders the accumulations of one
// origin at one target.
bool may_land(Window& window, const RmaCall& call) {
  if (!call.read || call.landed || !is_exposed(window, call)) return false;
  if (!call.accumulates()) return true;
  for (const auto& earlier : window.calls) {
    if (earlier.get() == &call) break;
    if (earlier->origin == call.origin && earlier->target == call.target &&
        earlier->accumulates() && !earlier->landed) {
      return false;
    }
  }
  return true;
}

// Behind the accumulations that stand before it.
void land_in_order(Window& window, const std::shared_ptr<RmaCall>& call) {
  if (call->accumulates()) {
    for (const auto& earlier : std::vector(window.calls.begin(), window.calls.end())) {
      if (earlier == call) break;
      if (earlier->origin == call->origin && earlier->target == call->target &&
          earlier->accumulates() && earlier->read && !earlier->landed) {
        land_one(window, *earlier);
      }
    }
  }
  if (!call->landed) land_one(window, *call);
}

// At random, some of what the running rank has issued moves.
void move_some(Window& window, int rank) {
  for (const auto& call : window.calls) {
    if (call->origin == rank && !call->read && random_below(2)) read_source(*call);
  }
  for (const auto& call : window.calls) {
    if (may_land(window, *call) && random_below(2)) land_one(window, *call);
  }
}

void forget_done(Window& window) {
  std::erase_if(window.calls, [](const auto& call) { return call->is_over(); });
}

using Calls = std::vector<std::shared_ptr<RmaCall>>;

uint32_t complete_until(const Window& window, const Flow& flow) {
  uint32_t until = flow.done;
  for (const auto& call : window.calls) {
    if (call->agent == flow.agent && !call->is_over()) until = std::min(until, call->time - 1);
  }
  return until;
}

// The origin knows of what is complete, but for what an earlier call of the flow stands before.
// That an update has come in an epoch of MPI_Win_start is for the target to learn, by MPI_Win_wait.
void settle_flows(Window& window, const Chosen& chosen, const Calls& all, Side side) {
  Clock done, learnt;
  std::set<const Flow*> flows;
  const RmaCall* fetched = nullptr;
  bool changes = false;
  for (const auto& call : all) {
    if (!chosen.holds(*call) || !call->landed || !call->returned) continue;
    const bool again = call->only_local;
    call->only_local = side == Side::Origin && call->updates();
    Flow& flow = window.path(call->origin, call->target).flow(*call);
    if (!call->only_local) flow.done = std::max(flow.done, call->time);
    if (again) continue;
    learnt.join(call->learnt);
    if (call->kind == Rma::Get || call->fetches()) fetched = call.get();
    changes |= call->kind == Rma::Put || call->kind == Rma::Accumulate;
    if (call->fetches())
      changes |= !std::ranges::equal(next_value(*call, call->fetched), call->fetched);
  }
  for (const auto& call : all) {
    if (!chosen.holds(*call) || (call->epoch == Epoch::Started && call->updates())) continue;
    const Flow& flow = window.path(call->origin, call->target).flow(*call);
    flows.insert(&flow);
  }
  for (const Flow* flow : flows) done.advance(flow->agent, complete_until(window, *flow));
  acquire_clock(done);
  if (!learnt.empty()) acquire_clock(learnt);
  forget_done(window);
  if (fetched) note_fetch(window, *fetched, changes);
  for (const auto& call : all) {
    if (call->is_over()) call->data = call->fetched = {};  // its name may stay
  }
}

}  // namespace

bool is_exposed(Window& window, const RmaCall& call) {
  return call.epoch != Epoch::Started ||
         window.path(call.origin, call.target).posted >= call.number;
}

void begin_at_target(Window& window, const std::shared_ptr<RmaCall>& call) {
  if (call->entered || !is_exposed(window, *call)) return;
  call->entered = true;
  if (call->epoch == Epoch::Started) {
    call->clock.join(window.path(call->origin, call->target).post);
  }
  if (const auto& history = window.part(call->target).history) history->begin(call);
}

void begin(Window& window, const std::shared_ptr<RmaCall>& call) {
  window.calls.push_back(call);
  if (g_config.timing == NetTiming::Eager) {
    read_source(*call);
    if (may_land(window, *call)) land_one(window, *call);
  } else if (g_config.timing == NetTiming::Random) {
    move_some(window, call->origin);
  }
}

void read_sources(Window& window, const Chosen& chosen) {
  for (const auto& call : window.calls) {
    if (chosen.holds(*call)) read_source(*call);
  }
}

// Puts of several origins come in any order: in lazy runs those of the last rank first.
void land(Window& window, const Chosen& chosen, bool fetches_only) {
  std::vector<std::shared_ptr<RmaCall>> ready;
  for (const auto& call : window.calls) {
    const bool wanted = !fetches_only || call->kind == Rma::Get || call->fetches();
    if (!chosen.holds(*call) || !call->read || call->landed || !wanted) continue;
    if (is_exposed(window, *call)) ready.push_back(call);
  }
  if (g_config.timing == NetTiming::Lazy) {
    std::ranges::stable_sort(ready,
                             [](const auto& a, const auto& b) { return a->origin > b->origin; });
  }
  for (const auto& call : ready) land_in_order(window, call);
}

bool land_last(Window& window, const Chosen& chosen) {
  std::shared_ptr<RmaCall> last;
  int updates = 0;
  for (const auto& call : window.calls) {
    if (!chosen.holds(*call) || !call->read || call->landed || !call->updates()) continue;
    updates++;
    last = call;
  }
  if (updates < 2) return false;
  land_in_order(window, last);
  return true;
}

void return_buffers(Window& window, const Chosen& chosen, Side side) {
  const auto all = std::vector(window.calls.begin(), window.calls.end());
  for (const auto& call : all) {
    if (!chosen.holds(*call) || call->returned || !call->read) continue;
    const bool brings = call->kind == Rma::Get || call->fetches();
    if (brings && !call->landed) continue;
    if (g_timed) reach(call->arrives, call->sent);
    give_back(call->lent);
    call->returned = true;
    if (!brings || !call->result) continue;
    Place place = call->place;
    place.type = call->result_type;
    scatter_elements(place, call->result, call->fetched, call->what);
  }
  settle_flows(window, chosen, all, side);
}

void complete_calls(Window& window, const Chosen& chosen) {
  read_sources(window, chosen);
  land(window, chosen);
  return_buffers(window, chosen);
}

const RmaCall* first_of(const Window& window, const Chosen& chosen) {
  for (const auto& call : window.calls) {
    if (chosen.holds(*call)) return call.get();
  }
  return nullptr;
}

void tell_arrived(const WindowPlace& place, bool all) {
  using Arrived = WindowPart::Arrived;
  std::vector<Arrived> arrived, later;
  for (Arrived& one : place.mine().arrived) {
    (all || one.epoch == Epoch::Started ? arrived : later).push_back(std::move(one));
  }
  place.mine().arrived = std::move(later);
  const auto order = [](const Arrived& one) {
    const bool at_the_end = one.data.empty();
    return std::tuple(at_the_end, at_the_end ? 0 : one.origin, at_the_end ? 0u : one.time,
                      reinterpret_cast<uintptr_t>(one.start), one.bytes);
  };
  std::ranges::stable_sort(arrived, {}, order);
  const Arrived* before = nullptr;
  for (const Arrived& one : arrived) {
    const bool again = before && one.data.empty() && order(*before) == order(one);
    before = &one;
    if (again || (in_heaps(one.start) && !heap_holds(one.start))) continue;
    Place told = place.place;
    told.type = one.element;
    told.call.elements = type_name(one.element);
    const char* data = one.data.empty() ? one.start : one.data.data();
    tell_arrival(told, one.start, data, one.bytes, one.data.origin);
  }
}

}  // namespace warploom::mpi
