// Barriers that lie in the program's memory (cuda::barrier, mbarrier). What they mean is kept here;
// their own memory only shows that something has changed.
#include "kernels/phase_barrier.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix_bits.h"
#include "host/own_memory.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/history.h"
#include "order/race.h"
#include "report/report.h"
#include "schedule/trace.h"
#include "timing/timing.h"

namespace warploom {

namespace {

constexpr unsigned kMostArrivals = (1u << kPendingBits) - 1;
constexpr long long kMostPhaseBytes = (1 << 20) - 1;

// What arrivals released that reach the same threads.
struct Arrivals {
  OpId op = 0;
  uint32_t block = 0;
  Scope scope = Scope::System;
  Clock clock{};
};
using Released = std::vector<Arrivals>;

struct Phases {
  unsigned expected = 0, pending = 0;
  unsigned long long phase = 0;
  long long bytes = 0;  // that are still to come in this phase
  unsigned held = 0;    // by copies of threads that have not landed
  bool live = false;
  uint32_t starts = 0;
  unsigned long long word = 0;  // what the barrier's memory holds
  AsyncLane lane;               // of copies that complete here
  Released arriving;            // in the open phase
  Released completed;           // in the last phase, with all before it
  Clock landing, landed;        // the same of copies, which reach whoever waits
  std::vector<Fiber*> waiting;
  WaitQueue asking;  // in modelled time: those who go on some time later even if it stays open
  Frames started, ended;
};
std::map<uintptr_t, Phases> g_phases;

// The phase that a thread has found open last: who asks again waits.
struct FoundOpen {
  const PhaseBarrier* barrier = nullptr;
  unsigned long long phase = 0;
  unsigned times = 0;
};
std::unordered_map<const Fiber*, FoundOpen> g_found_open;

// How often the running fiber has found this phase open, this time included.
unsigned times_found_open(const PhaseBarrier* barrier, unsigned long long phase) {
  FoundOpen& last = g_found_open[g_current];
  if (last.barrier != barrier || last.phase != phase) last = {barrier, phase, 0};
  return ++last.times;
}

void report_misuse(const std::string& message, const char* hint, const Frames& other = {}) {
  report_finding({.kind = kinds::async_misuse, .message = message, .hint = hint, .other = other});
}

void check_barrier(const PhaseBarrier* barrier) {
  const bool of_devices = in_arena(barrier) || find_variable(barrier);
  bool allowed = false;
  if (g_current->host && !of_devices) {
    allowed = check_host_memory(barrier, sizeof(PhaseBarrier), true, "cuda::barrier");
  } else {
    allowed = check_access(barrier, sizeof(PhaseBarrier), true) ||
              is_registered(barrier, sizeof(PhaseBarrier)) ||
              (g_current->gpu && in_own_stack(barrier));
  }
  if (!allowed) stop_run();
  if (reinterpret_cast<uintptr_t>(barrier) % alignof(PhaseBarrier)) {
    report_finding({.kind = kinds::misaligned,
                    .message = "a barrier in memory lies at an address that is no multiple of 8",
                    .hint = "declare it with alignas(8)"});
    stop_run();
  }
}

// As on a device, barriers in the same state hold the same, and two phases later it is there again.
void show_phases(PhaseBarrier* barrier, Phases& phases) {
  const uint64_t bytes = static_cast<uint64_t>(phases.bytes) & (2 * kMostPhaseBytes + 1);
  const uint64_t counts = uint64_t{phases.expected} << 20 | phases.pending;
  phases.word = mix_bits((counts << 21 | bytes) << 1 | (phases.phase & 1));
  barrier->word = phases.word;
}

// Ends the run where nobody has started a barrier, or something else was written there.
Phases& phases_of(const PhaseBarrier* barrier, const char* what) {
  const auto known = g_phases.find(reinterpret_cast<uintptr_t>(barrier));
  if (known != g_phases.end() && known->second.live && known->second.word == barrier->word) {
    return known->second;
  }
  const bool overwritten = known != g_phases.end() && known->second.live;
  const bool ended = known != g_phases.end() && !known->second.live;
  report_misuse(
      format("%s: %s", what,
             overwritten ? "something else was written to the barrier's memory since it was "
                           "initialized"
             : ended     ? "the barrier was invalidated before"
                         : "nobody has initialized a barrier there"),
      "let one thread initialize the barrier, and the others wait for that (__syncthreads), before "
      "it is used; nothing but its own operations may touch its memory",
      overwritten ? known->second.started
      : ended     ? known->second.ended
                  : Frames{});
  stop_run();
}

// As atomics do it: both scopes must reach the other one.
void acquire_arrivals(const Released& released, const Actor& actor, Scope scope) {
  const Record self{Record::who_is(actor.op, actor.block), atomic_bits({scope, Extent::Any})};
  for (const Arrivals& arrivals : released) {
    const Record other{Record::who_is(arrivals.op, arrivals.block),
                       atomic_bits({arrivals.scope, Extent::Any})};
    if (exclude_each_other(other, self)) {
      acquire_clock(arrivals.clock);
    } else if (const GpuThread* thread = current_thread()) {
      thread->block->saw_narrow_scope = true;
    }
  }
}

void add_arrivals(Released& released, const Arrivals& arrivals) {
  const auto known = std::ranges::find_if(released, [&](const Arrivals& other) {
    return other.op == arrivals.op && other.block == arrivals.block &&
           other.scope == arrivals.scope;
  });
  known == released.end() ? released.push_back(arrivals) : known->clock.join(arrivals.clock);
}

void open_if_complete(Phases& phases) {
  if (phases.pending || phases.bytes || phases.held) return;
  phases.pending = phases.expected;
  phases.phase++;
  for (const Arrivals& arrivals : phases.completed) add_arrivals(phases.arriving, arrivals);
  phases.completed = std::exchange(phases.arriving, {});
  phases.landed.join(phases.landing);
  note_progress();
  wake_all(phases.waiting);
  if (!phases.asking.empty()) phases.asking.notify_all();
}

Actor enter_at_barrier(const PhaseBarrier* barrier, bool writes, Scope scope) {
  const Actor actor = current_actor(program_place());
  access_atomic(actor, barrier, sizeof *barrier, writes, {scope, Extent::Eight});
  return actor;
}

// Of several arrivals, some would belong to the next phase already.
void check_arrivals(const Phases& phases, unsigned count) {
  if (count <= phases.pending) return;
  report_misuse(format("%u arrivals at a barrier of which %u of %u are missing", count,
                       phases.pending, phases.expected),
                "initialize the barrier with the number of all arrivals of a phase",
                phases.started);
  stop_run();
}

unsigned long long phase_state(const Phases& phases) {
  return phases.phase << kPendingBits | phases.pending;
}

unsigned long long arrive_counted(PhaseBarrier* barrier, unsigned count, Scope scope,
                                  unsigned dropped, bool early) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "arrival");
  const Actor actor = enter_at_barrier(barrier, true, scope);
  check_arrivals(phases, count);
  if (early && count == phases.pending && !phases.bytes && !phases.held) {
    report_misuse("mbarrier.arrive.noComplete completes the phase",
                  "use an arrival that may complete the phase for the last one", phases.started);
  }
  const unsigned long long state = phase_state(phases);
  // A wider scope reaches all blocks of the kernel, or everybody. Those of a cluster are few, and
  // may meet others of the same barrier that name a narrower one.
  const OpId op = scope == Scope::System ? 0 : actor.op;
  const bool own_block = scope == Scope::Block || in_shared(reinterpret_cast<uintptr_t>(barrier));
  add_arrivals(phases.arriving, {op, own_block ? actor.block : 0, scope, release_clock()});
  phases.expected -= dropped;
  phases.pending -= count;
  open_if_complete(phases);
  show_phases(barrier, phases);
  return state;
}

// `issued`: the copy that brings them, or nobody's.
void change_bytes(PhaseBarrier* barrier, Phases& phases, long long change, const Frames& issued,
                  std::optional<int> rank = {}) {
  phases.bytes += change;
  if (phases.bytes > kMostPhaseBytes || phases.bytes < -kMostPhaseBytes) {
    report_finding(
        {.kind = kinds::async_misuse,
         .message = format("the bytes of a barrier's phase leave its range: %lld", phases.bytes),
         .hint = "expect as many bytes in a phase as its copies bring, at most 2^20 - 1",
         .where = issued,
         .other = phases.started,
         .rank = rank});
    stop_run();
  }
  open_if_complete(phases);
  show_phases(barrier, phases);
}

std::string missing_in(const Phases& phases) {
  std::string text = format("%u of %u arrivals", phases.expected - phases.pending, phases.expected);
  if (phases.bytes > 0) text += format(", %lld bytes still to come", phases.bytes);
  if (phases.held) text += format(", %u arrivals behind copies still to come", phases.held);
  if (phases.bytes < 0) text += format(", %lld more bytes than were expected", -phases.bytes);
  return text;
}

void acquire_phase(const Phases& phases, const PhaseBarrier* barrier, Scope scope) {
  if (g_found_open.contains(g_current)) g_found_open.erase(g_current);
  acquire_arrivals(phases.completed, enter_at_barrier(barrier, false, scope), scope);
  if (!phases.landed.empty()) acquire_clock(phases.landed);
}

// Sleeps until something happens there, or nobody else can go on: what ends the phase may be up to
// the running thread itself, which does other work between two looks.
template <class Over>
void look_later(const PhaseBarrier* barrier, Phases& phases, unsigned times,
                const WaitReason& reason, const Over& over) {
  constexpr unsigned kPatience = 64;
  if (!g_timed) {
    poll_word(barrier, sizeof *barrier, &reason);
  } else if (times <= kPatience) {
    phases.asking.wait_or_expire([&] { return over(phases); }, reason, ~uint64_t{0});
  } else {
    phases.waiting.push_back(g_current);
    block_current(reason);
  }
}

// Nobody is told how long a thread that asks is suspended: the first time it is told that the phase
// is open, so that it must ask_phase again.
template <class Over>
bool ask_phase(const PhaseBarrier* barrier, Scope scope, const char* which,
               unsigned long long wanted, const Over& over) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "wait");
  if (!over(phases)) {
    const unsigned times = times_found_open(barrier, phases.phase);
    if (times == 1 && g_config.timing != NetTiming::Eager) {
      poll_current();
      return false;
    }
    const WaitReason reason{"a wait for an mbarrier", [&phases, which, wanted] {
                              return format("for %s %llu; phase %llu has %s", which, wanted,
                                            phases.phase, missing_in(phases).c_str());
                            }};
    look_later(barrier, phases, times, reason, over);
  }
  if (!over(phases)) return false;
  acquire_phase(phases, barrier, scope);
  return true;
}

template <class Over>
Phases& sleep_at_barrier(const PhaseBarrier* barrier, const char* what, Over&& over) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, what);
  const WaitReason reason{what, [&phases] { return missing_in(phases); }};
  while (!over(phases)) {
    phases.waiting.push_back(g_current);
    block_current(reason);
  }
  return phases;
}

}  // namespace

void start_barrier(PhaseBarrier* barrier, unsigned expected) {
  check_barrier(barrier);
  if (expected == 0 || expected > kMostArrivals) {
    report_misuse(format("a barrier is initialized for %u arrivals", expected),
                  "a phase needs 1 to 2^20 - 1 arrivals");
    stop_run();
  }
  const Frames where = capture_frames();
  Actor actor = current_actor(where.pc[0]);
  actor.init = current_thread() != nullptr;
  access_write(actor, barrier, sizeof *barrier);
  Phases& phases = g_phases[reinterpret_cast<uintptr_t>(barrier)];
  Phases fresh;
  fresh.expected = fresh.pending = expected;
  fresh.live = true;
  fresh.starts = phases.starts + 1;
  fresh.started = where;
  phases = std::move(fresh);
  show_phases(barrier, phases);
}

void end_barrier(PhaseBarrier* barrier) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "mbarrier.inval");
  const Frames where = capture_frames();
  access_write(current_actor(where.pc[0]), barrier, sizeof *barrier);
  phases.live = false;
  phases.ended = where;
}

unsigned long long arrive_at(PhaseBarrier* barrier, unsigned count, Scope scope) {
  return arrive_counted(barrier, count, scope, 0, false);
}

unsigned long long arrive_early(PhaseBarrier* barrier, unsigned count, Scope scope) {
  return arrive_counted(barrier, count, scope, 0, true);
}

unsigned long long drop_from(PhaseBarrier* barrier, unsigned count, Scope scope) {
  return arrive_counted(barrier, count, scope, count, false);
}

void expect_bytes(PhaseBarrier* barrier, unsigned bytes, Scope scope) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "expect_tx");
  enter_at_barrier(barrier, true, scope);
  change_bytes(barrier, phases, bytes, {});
}

void complete_bytes(PhaseBarrier* barrier, unsigned bytes, Scope scope) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "complete_tx");
  enter_at_barrier(barrier, true, scope);
  change_bytes(barrier, phases, -static_cast<long long>(bytes), {});
}

void check_token(const PhaseBarrier* barrier, unsigned long long phase) {
  check_barrier(barrier);
  const Phases& phases = phases_of(barrier, "wait");
  if (phase > phases.phase || phases.phase - phase < 2) return;
  report_misuse(format("a wait for phase %llu of a barrier in its phase %llu", phase, phases.phase),
                "wait with the token of the newest arrival: older ones have its parity again",
                phases.started);
  stop_run();
}

void wait_at(const PhaseBarrier* barrier, unsigned long long phase, Scope scope) {
  const Phases& phases = sleep_at_barrier(
      barrier, "cuda::barrier::wait", [phase](const Phases& now) { return now.phase != phase; });
  // The wait is for the parity of a phase: of one that lies further back it says nothing.
  if (phases.phase - phase == 1) acquire_phase(phases, barrier, scope);
}

void wait_parity(const PhaseBarrier* barrier, unsigned parity, Scope scope) {
  const Phases& phases =
      sleep_at_barrier(barrier, "cuda::barrier::wait_parity",
                       [parity](const Phases& now) { return (now.phase & 1) != (parity & 1); });
  acquire_phase(phases, barrier, scope);
}

bool phase_is_over(const PhaseBarrier* barrier, unsigned long long phase, Scope scope) {
  check_token(barrier, phase);
  return ask_phase(barrier, scope, "phase", phase,
                   [phase](const Phases& now) { return now.phase != phase; });
}

bool parity_is_over(const PhaseBarrier* barrier, unsigned parity, Scope scope) {
  return ask_phase(barrier, scope, "a phase of parity", parity,
                   [parity](const Phases& now) { return (now.phase & 1) != (parity & 1); });
}

AsyncLane& async_lane_at(PhaseBarrier* barrier, const char* what) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, what);
  enter_at_barrier(barrier, true, Scope::Device);
  return phases.lane;
}

uint32_t starts_of(const PhaseBarrier* barrier) {
  return g_phases.at(reinterpret_cast<uintptr_t>(barrier)).starts;
}

uint32_t hold_for_copies(PhaseBarrier* barrier, unsigned count, Scope scope) {
  check_barrier(barrier);
  Phases& phases = phases_of(barrier, "arrival");
  phases.held++;
  arrive_at(barrier, count, scope);
  return phases.starts;
}

static Phases& phases_at_landing(PhaseBarrier* barrier, uint32_t starts, const Frames& where,
                                 int rank) {
  const auto known = g_phases.find(reinterpret_cast<uintptr_t>(barrier));
  if (known == g_phases.end() || !known->second.live || known->second.starts != starts ||
      known->second.word != barrier->word) {
    report_finding({.kind = kinds::async_misuse,
                    .message = "a copy ends at an mbarrier that has been invalidated, initialized "
                               "anew or overwritten since the copy was issued",
                    .hint = "wait for the phase that the copy completes first",
                    .where = where,
                    .rank = rank});
    stop_run();
  }
  return known->second;
}

void copies_landed(PhaseBarrier* barrier, uint32_t starts, const Clock& copies, const Frames& where,
                   int rank) {
  Phases& phases = phases_at_landing(barrier, starts, where, rank);
  phases.landing.join(copies);
  phases.held--;
  open_if_complete(phases);
  show_phases(barrier, phases);
}

void bytes_landed(PhaseBarrier* barrier, uint32_t starts, unsigned bytes, const Frames& where,
                  int rank) {
  Phases& phases = phases_at_landing(barrier, starts, where, rank);
  const AsyncLane& lane = phases.lane;
  phases.landing.join(lane.clock(lane.first_flying()));
  change_bytes(barrier, phases, -static_cast<long long>(bytes), where, rank);
}

void forget_barriers(uintptr_t start, std::size_t bytes) {
  if (g_phases.empty()) return;
  g_phases.erase(g_phases.lower_bound(start), g_phases.lower_bound(start + bytes));
}

}  // namespace warploom
