// Barriers that lie in the program's memory (cuda::barrier).
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "history.h"
#include "kernel.h"
#include "memory.h"
#include "own_memory.h"
#include "race.h"
#include "report.h"
#include "variables.h"

namespace warploom {

namespace {

// What arrivals released that reach the same threads.
struct Arrivals {
  OpId op = 0;
  uint32_t block = 0;
  Scope scope = Scope::System;
  Clock clock{};
};
using Released = std::vector<Arrivals>;

struct Phase {
  Released arriving;   // in the open phase
  Released completed;  // in the last phase, with all before it
  std::vector<Fiber*> waiting;
};
std::map<const PhaseBarrier*, Phase> g_phases;

void check(const PhaseBarrier* barrier) {
  const bool of_devices = in_arena(barrier) || find_variable(barrier);
  if (g_current->host && !of_devices) {
    check_host_memory(barrier, sizeof(PhaseBarrier), true, "cuda::barrier");
  } else {
    check_access(barrier, sizeof(PhaseBarrier), true);
  }
}

void add_arrivals(Released& released, const Arrivals& arrivals) {
  const auto known = std::ranges::find_if(released, [&](const Arrivals& other) {
    return other.op == arrivals.op && other.block == arrivals.block &&
           other.scope == arrivals.scope;
  });
  known == released.end() ? released.push_back(arrivals) : known->clock.join(arrivals.clock);
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

void open(PhaseBarrier& barrier, Phase& phase) {
  barrier.arrived = 0;
  barrier.phase++;
  for (const Arrivals& arrivals : phase.completed) add_arrivals(phase.arriving, arrivals);
  phase.completed = std::exchange(phase.arriving, {});
  note_progress();
  wake_all(phase.waiting);
}

}  // namespace

void start_barrier(PhaseBarrier* barrier, unsigned expected) {
  check(barrier);
  access_write(current_actor(capture_frames().pc[0]), barrier, sizeof *barrier);
  *barrier = {expected, 0, 0};
  g_phases[barrier] = {};
}

unsigned long long arrive_at(PhaseBarrier* barrier, unsigned count, Scope scope) {
  check(barrier);
  const Actor actor = current_actor(capture_frames().pc[0]);
  access_atomic(actor, barrier, sizeof *barrier, true, {scope, Extent::Sixteen});
  Phase& phase = g_phases[barrier];
  const unsigned long long token = barrier->phase;
  // A wider scope reaches all blocks of the kernel, or everybody.
  const OpId op = scope == Scope::System ? 0 : actor.op;
  add_arrivals(phase.arriving,
               {op, scope == Scope::Block ? actor.block : 0, scope, release_clock()});
  barrier->arrived += count;
  if (barrier->arrived >= barrier->expected) open(*barrier, phase);
  return token;
}

void wait_at(const PhaseBarrier* barrier, unsigned long long token, Scope scope) {
  check(barrier);
  Phase& phase = g_phases[barrier];
  const WaitReason reason{"cuda::barrier::wait", [barrier] {
                            return format("%u of %u arrivals", barrier->arrived, barrier->expected);
                          }};
  while (barrier->phase == token) {
    phase.waiting.push_back(g_current);
    block_current(reason);
  }
  // The wait is for the parity of a phase: of one that lies further back it says nothing.
  if (barrier->phase - token == 1) acquire_arrivals(phase.completed, current_actor(0), scope);
}

void drop_from(PhaseBarrier* barrier, Scope scope) {
  check(barrier);
  barrier->expected--;
  arrive_at(barrier, 0, scope);
}

}  // namespace warploom
