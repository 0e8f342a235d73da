#include "mpi/mpi_win_history.h"

#include <algorithm>

#include "memory/sides.h"

namespace warploom::mpi {

namespace {

// Those that a process has, by the process.
std::map<const Process*, std::vector<WindowHistory*>> g_histories;

void tell_histories(const HostTouch& touch) {
  for (WindowHistory* history : g_histories[g_current->process]) history->touched(touch);
}

// Where the windows of a process lie, told to who sees its accesses.
void watch_range(const Process& process) {
  HostRange range;
  for (const WindowHistory* history : g_histories[&process]) {
    const HostRange part = history->range();
    if (!range.bytes) range = part;
    const uintptr_t end = std::max(range.start + range.bytes, part.start + part.bytes);
    range.start = std::min(range.start, part.start);
    range.bytes = end - range.start;
  }
  watch_windows(process, range, tell_histories);
}

bool knows(const Clock& clock, const RmaCall& call) {
  if (clock.agent_time(call.agent) >= call.time) return true;
  return call.seen && clock.agent_time(call.seen_by) >= call.seen;
}

// The same for code of the target, whose own time is in no clock yet.
bool host_knows(const HostThread& host, const RmaCall& call) {
  return (call.seen && call.seen_by == host.agent) || knows(host.clock, call);
}

bool knows_code(const Clock& clock, const Touch& code) {
  const Op& op = op_of(code.op);
  return clock.agent_time(op.agent) >= op.time;
}

const char* does(const RmaCall& call) { return call.updates() ? "stores to" : "reads"; }

void report_calls(const RmaCall& before, const RmaCall& call) {
  report_finding(
      {.kind = kinds::data_race,
       .message = format("%s of rank %d %s bytes of the window of rank %d that %s of rank %d %s, "
                         "and nothing orders the two",
                         call.what, call.origin, does(call), call.target, before.what,
                         before.origin, does(before)),
       .hint = "MPI orders no two one-sided calls of an epoch: part them by a synchronization, or "
               "let both be MPI_Accumulate or its like",
       .where = call.where,
       .other = before.where,
       .other_rank = before.origin});
}

// "same_op_no_op", which MPI assumes: "all concurrent accumulate calls to the same target address
// will use the same operation" (MPI 3.1, 11.2.1), with one data type. Locks swap and replace what
// others fetch, and are left alone.
bool agree(const RmaCall& one, const RmaCall& other) {
  const auto computes = [](const RmaCall& call) {
    return call.kind != Rma::Swap && call.op != MPI_NO_OP && call.op != MPI_REPLACE;
  };
  if (one.origin == other.origin || !computes(one) || !computes(other)) return true;
  return one.op == other.op && elements_of(one.element) == elements_of(other.element);
}

void report_sums(const RmaCall& before, const RmaCall& call) {
  const auto text = [](const RmaCall& each) {
    return format("%s (%s, %s) of rank %d", each.what, op_name(each.op), type_name(each.element),
                  each.origin);
  };
  report_finding({.kind = kinds::mpi_mismatch,
                  .message = text(call) + " updates what " + text(before) +
                             " updates in the same epoch: MPI takes one operation and one data "
                             "type for both",
                  .hint = "part the two by a synchronization, or let both be the same",
                  .where = call.where,
                  .other = before.where,
                  .other_rank = before.origin});
}

// The target's code was first.
void report_call(const Touch& before, bool written, const RmaCall& call) {
  Frames place;
  place.pc[0] = before.pc;
  report_finding(
      {.kind = kinds::mpi_buffer_in_use,
       .message =
           format("%s of rank %d %s bytes of the window of rank %d that code of that rank "
                  "%s, and nothing orders the two",
                  call.what, call.origin, does(call), call.target, written ? "stores to" : "reads"),
       .hint = "in an epoch the target leaves alone what others reach: close it first "
               "(MPI_Win_fence, MPI_Win_wait), or let the origin wait until the target is done",
       .where = call.where,
       .other = place,
       .other_rank = op_of(before.op).rank});
}

void report_freed(const RmaCall& call) {
  report_finding({.kind = kinds::mpi_buffer_in_use,
                  .message = format("the host frees the window's memory of %s before that has "
                                    "completed",
                                    call.what),
                  .hint = "first complete it: MPI_Win_fence, MPI_Win_complete, MPI_Win_unlock or "
                          "MPI_Win_flush",
                  .other = call.where});
}

void report_code(const RmaCall& call, const HostTouch& touch, bool told) {
  if (touch.frees) return report_freed(call);
  const char* who = touch.who ? touch.who : "the host";
  const char* verb = touch.write ? "write" : "read";
  if (told) {
    report_finding({.kind = kinds::mpi_buffer_in_use,
                    .message = format("%s %ss memory of its window that an %s %s, which has not "
                                      "been completed, though its rank has gone on and said so",
                                      who, verb, call.what, does(call)),
                    .hint = "let the origin call MPI_Win_flush or MPI_Win_unlock before it tells "
                            "the target (MPI_Win_flush_local is not enough)",
                    .other = call.where});
    return;
  }
  const bool locked = call.epoch == Epoch::Locked;
  report_finding({.kind = kinds::mpi_buffer_in_use,
                  .message = format("%s %ss memory of its window that an %s of %s %s", who, verb,
                                    call.what, locked ? "another rank" : "this epoch", does(call)),
                  .hint = locked ? "first hear of the origin that its call is complete, or read "
                                   "the memory until what it stores is there"
                                 : "first close the epoch: MPI_Win_fence, or MPI_Win_wait",
                  .other = call.where});
}

}  // namespace

WindowHistory::WindowHistory(Window& window, int rank) : window_(window), rank_(rank) {
  g_histories[&owner()].push_back(this);
  watch_range(owner());
}

WindowHistory::~WindowHistory() {
  std::erase(g_histories[&owner()], this);
  watch_range(owner());
}

const Process& WindowHistory::owner() const {
  const int rank = window_.comm->world[static_cast<std::size_t>(rank_)];
  return *g_processes[static_cast<std::size_t>(rank)];
}

HostRange WindowHistory::range() const {
  const WindowPart& part = window_.part(rank_);
  return {reinterpret_cast<uintptr_t>(part.base), part.bytes};
}

void WindowHistory::begin(const std::shared_ptr<RmaCall>& call) {
  const bool updates = call->updates(), locked = call->epoch == Epoch::Locked;
  const auto check_call = [&](const Touch& before) {
    const RmaCall& other = *before.call;
    if (knows(call->clock, other)) return;
    if (!other.accumulates() || !call->accumulates()) return report_calls(other, *call);
    if (!agree(other, *call)) report_sums(other, *call);
  };
  Touches<Touch>& mine = !updates ? gets_ : call->accumulates() ? sums_ : puts_;
  for (const Piece& piece : call->pieces) {
    const std::size_t start = piece.offset, end = start + piece.bytes;
    if (start == end) continue;
    puts_.each(start, end, check_call);
    sums_.each(start, end, check_call);
    if (updates) gets_.each(start, end, check_call);
    // With a lock either side may wait by reading what the other stores.
    if (updates || !locked) {
      stores_.each(start, end, [&](const Touch& before) {
        if (!knows_code(call->clock, before)) report_call(before, true, *call);
      });
    }
    if (updates && !locked) {
      loads_.each(start, end, [&](const Touch& before) {
        if (!knows_code(call->clock, before)) report_call(before, false, *call);
      });
    }
    mine.enter(start, end, {.call = call, .op = 0, .pc = 0});
  }
  open_.push_back(call);
}

// Is there any that the running host thread has not heard to be over?
bool WindowHistory::has_open(OpId now) {
  if (open_.empty()) return false;
  if (now != seen_in_ && owner().threads.size() == 1) {
    std::erase_if(open_, [](const auto& call) { return host_knows(current_host(), *call); });
    seen_in_ = now;
  }
  return !open_.empty();
}

void WindowHistory::learn(RmaCall& call) const {
  for (const Piece& piece : call.pieces) {
    stores_.each(piece.offset, piece.offset + piece.bytes, [&](const Touch& before) {
      if (knows_code(call.clock, before) || knows_code(call.learnt, before)) return;
      const Op& op = op_of(before.op);
      for (const auto& thread : owner().threads) {
        if (thread->agent == op.agent) call.learnt.join(thread->clock);
      }
      call.learnt.advance(op.agent, op.time);
    });
  }
}

// The target has looked, and the data is there: what was complete when the call was made is
// ordered before what it does next. What was not is no more known than before.
void WindowHistory::see(RmaCall& call) {
  HostThread& host = current_host();
  Clock found = call.clock;
  if (call.accumulates()) {
    for (const Piece& piece : call.pieces) {
      const auto released = window_.released.find(window_.part(rank_).base + piece.offset);
      if (released != window_.released.end()) found.join(released->second);
    }
  }
  for (auto& [ranks, path] : window_.paths) {
    if (ranks.second != rank_) continue;
    const uint32_t before = host.clock.agent_time(path.issuer);
    const uint32_t after = found.agent_time(path.issuer);
    if (after <= before) continue;
    if (before != path.looked_to) path.looked_from = before + 1;
    path.looked_to = after;
  }
  acquire_clock(found);
  call.seen_by = host.agent;
  call.seen = host.time;
}

void WindowHistory::check_host(const Touch& before, const HostTouch& touch) {
  RmaCall& call = *before.call;
  const HostThread& host = current_host();
  if (host_knows(host, call)) return;
  const bool waits = call.epoch == Epoch::Locked && !touch.frees && call.updates() != touch.write;
  if (!waits) return report_code(call, touch, false);
  const Path& path = window_.path(call.origin, call.target);
  const bool looked = path.looked_from <= call.time && call.time <= path.looked_to;
  if (!looked && host.clock.agent_time(path.issuer) >= call.time) {
    report_code(call, touch, true);
  } else if (!touch.write && call.landed) {
    see(call);
  }
}

void WindowHistory::touched(const HostTouch& touch) {
  const HostRange all = range();
  const auto from = reinterpret_cast<uintptr_t>(touch.start);
  if (!all.meets(from, touch.bytes)) return;
  const std::size_t start = std::max(from, all.start) - all.start;
  const std::size_t end = std::min(from + touch.bytes, all.start + all.bytes) - all.start;
  const uint32_t pc = touch.pc ? touch.pc : program_place();
  const OpId now = current_actor(pc).op;
  if (has_open(now)) {
    const auto check = [&](const Touch& before) { check_host(before, touch); };
    puts_.each(start, end, check);
    sums_.each(start, end, check);
    if (touch.write) gets_.each(start, end, check);
  }
  if (!touch.frees)
    (touch.write ? stores_ : loads_).enter(start, end, {.call = {}, .op = now, .pc = pc});
}

void make_histories(Window& window) {
  if (window.memory == Memory::Shared) return;
  for (int rank = 0; rank < window.comm->size(); rank++) {
    WindowPart& part = window.part(rank);
    if (!part.bytes || emulated(part.base)) continue;
    part.history = std::make_shared<WindowHistory>(window, rank);
  }
}

void drop_history(const WindowPlace& place) { place.mine().history.reset(); }

}  // namespace warploom::mpi
