// Barriers that lie in the program's memory (cuda::barrier).
#include <deque>
#include <map>

#include "kernel.h"
#include "memory.h"
#include "own_memory.h"
#include "race.h"
#include "report.h"
#include "variables.h"

namespace warploom {

namespace {

constexpr std::size_t kPhasesKept = 4;

struct Phase {
  Clock arriving;               // what the arrivals of the open phase released
  std::deque<Clock> completed;  // of the last phases, newest last, each with all before it
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

void open(PhaseBarrier& barrier, Phase& phase) {
  barrier.arrived = 0;
  barrier.phase++;
  if (!phase.completed.empty()) phase.arriving.join(phase.completed.back());
  phase.completed.push_back(std::move(phase.arriving));
  if (phase.completed.size() > kPhasesKept) phase.completed.pop_front();
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
  // Who comes late knows what the phase meant, not what later ones did.
  const auto later = static_cast<std::size_t>(barrier->phase - token - 1);
  const std::size_t kept = phase.completed.size();
  if (kept > 0) acquire_clock(phase.completed[later < kept ? kept - 1 - later : 0]);
}

void drop_from(PhaseBarrier* barrier) {
  check(barrier);
  barrier->expected--;
  arrive_at(barrier, 0, Scope::Block);
}

}  // namespace warploom
