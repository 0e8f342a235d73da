// Barriers that lie in the program's memory (cuda::barrier).
#include <map>

#include "kernel.h"
#include "memory.h"
#include "race.h"
#include "report.h"

namespace warploom {

namespace {

struct Phase {
  Clock arriving, complete;  // what the arrivals of this phase, and of those before it, released
  std::vector<Fiber*> waiting;
};
std::map<const PhaseBarrier*, Phase> g_phases;

void check(const PhaseBarrier* barrier) { check_access(barrier, sizeof(PhaseBarrier), true); }

void open(PhaseBarrier& barrier, Phase& phase) {
  barrier.arrived = 0;
  barrier.phase++;
  phase.complete.join(phase.arriving);
  phase.arriving = {};
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

unsigned long long arrive_at(PhaseBarrier* barrier, unsigned count, Scope) {
  check(barrier);
  access_atomic(current_actor(capture_frames().pc[0]), barrier, sizeof *barrier, true);
  Phase& phase = g_phases[barrier];
  const unsigned long long token = barrier->phase;
  phase.arriving.join(release_clock());
  barrier->arrived += count;
  if (barrier->arrived >= barrier->expected) open(*barrier, phase);
  return token;
}

void wait_at(const PhaseBarrier* barrier, unsigned long long token, Scope) {
  check(barrier);
  Phase& phase = g_phases[barrier];
  const WaitReason reason{"cuda::barrier::wait", [barrier] {
                            return format("%u of %u arrivals", barrier->arrived, barrier->expected);
                          }};
  while (barrier->phase == token) {
    phase.waiting.push_back(g_current);
    block_current(reason);
  }
  acquire_clock(phase.complete);
}

void drop_from(PhaseBarrier* barrier) {
  check(barrier);
  barrier->expected--;
  arrive_at(barrier, 0, Scope::Block);
}

}  // namespace warploom
