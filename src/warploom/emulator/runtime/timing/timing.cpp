#include "timing/timing.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "machine/world.h"
#include "schedule/scheduler.h"
#include "timing/stream_time.h"

namespace warploom {

unsigned long long g_host_work = 0;
Machine g_machine;

bool set_machine(const std::string& name, double value) {
#define X(field)             \
  if (name == #field) {      \
    g_machine.field = value; \
    return true;             \
  }
  WARPLOOM_MACHINE(X)
#undef X
  return false;
}

namespace {

// What somebody in the queue is about: a wait that only looks, a computation, or anything else.
enum class Aim { Other, Polls, Computes };

struct Entry {
  double time;
  uint64_t sequence;
  Runnable* runnable;
  Fiber* fiber;
  int event;  // index into g_timed_events, or -1
  Aim aim;
};
struct Later {
  bool operator()(const Entry& a, const Entry& b) const {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
};

std::priority_queue<Entry, std::vector<Entry>, Later> g_timed_queue;
std::vector<std::function<void()>> g_timed_events;
std::vector<int> g_timed_free;
uint64_t g_timed_queued = 0;
std::size_t g_polls = 0;  // entries of g_timed_queue that only poll
// The times of those that do neither that nor only compute.
std::priority_queue<double, std::vector<double>, std::greater<>> g_other_times;
double g_last_firm = 0;  // the latest time of an entry that did not only poll
double g_now = 0;
// Since when what happens now was on its way; a wait before that was for the other side.
double g_began = 0;

void push(double time, Runnable* runnable, Fiber* fiber, int event = -1, Aim aim = Aim::Other) {
  g_timed_queue.push({time, ++g_timed_queued, runnable, fiber, event, aim});
  g_polls += aim == Aim::Polls;
  if (aim == Aim::Other) g_other_times.push(time);
  if (aim != Aim::Polls) g_last_firm = std::max(g_last_firm, time);
}

double key_of(const Runnable& runnable) {
  switch (runnable.kind) {
    case Runnable::Kind::Host:
      return static_cast<const HostThread&>(runnable).fiber->time;
    case Runnable::Kind::Block: {
      const Block& block = static_cast<const Block&>(runnable);
      return block.ready.empty() && block.meter ? std::max(block.meter->start, time_now())
                                                : time_now();
    }
    case Runnable::Kind::Stream:
      return std::max(time_now(), next_start(static_cast<const Stream&>(runnable)));
    default:
      return time_now();
  }
}

// A block that has not started may be earlier than all that is queued.
bool blocks_to_start(const Fiber& self) {
  if (!self.block) return false;
  const Kernel& kernel = *self.block->kernel;
  return kernel.next_block < kernel.total_blocks && kernel.resident.size() < kernel.residency &&
         kernel.next_block < kernel.residency && kernel.start_time < self.time;
}

void sleep_until_turn(Aim aim) {
  static const WaitReason kTurn{"its turn in modelled time", {}};
  Fiber* self = g_current;
  self->state = FiberState::Blocked;
  self->reason = &kTurn;
  push(self->time, nullptr, self, -1, aim);
  switch_to_scheduler();
}

}  // namespace

double time_now() { return g_current ? g_current->time : g_now; }

void advance(double nanoseconds) {
  if (g_timed && g_current) g_current->time += nanoseconds;
}

void advance_communicating(double nanoseconds) {
  if (!g_timed || !g_current) return;
  g_current->time += nanoseconds;
  g_current->communicated += nanoseconds;
}

void reach(double time) { reach(time, time); }

static void reach(Fiber& fiber, double time, double began) {
  const double gap = time - fiber.time;
  if (gap <= 0) return;
  const double moving = std::clamp(time - began, 0.0, gap);
  fiber.communicated += moving;
  fiber.waited += gap - moving;
  fiber.time = time;
}

void reach(double time, double began) {
  if (g_timed && g_current) reach(*g_current, time, began);
}

void take_turn() {
  if (!g_timed || !g_current) return;
  while ((!g_timed_queue.empty() && g_timed_queue.top().time < g_current->time) ||
         blocks_to_start(*g_current)) {
    sleep_until_turn(Aim::Other);
  }
}

void host_call(double nanoseconds) {
  if (!g_timed || !g_current || !g_current->host) return;
  take_turn();
  g_current->time += nanoseconds;
}

constexpr double kHostWorkNs = 0.25;  // an estimate: a core does about four a nanosecond

void price_host_work(bool begins) {
  if (!g_timed || !g_current || !g_current->host) return;
  HostThread& host = *g_current->host;
  g_host_work += host_tally();
  if (host.working) g_current->time += static_cast<double>(host.work + g_host_work) * kHostWorkNs;
  host.work = g_host_work = 0;
  host.working |= begins;
}

// Has it done nothing since its last step but look at the same values? A loop that computes may
// read its bound, or counters, in a way that a loop that waits would.
static bool only_looked(Fiber& self) {
  const uint64_t accesses = accesses_made() - g_stats.looks;
  const bool same = std::exchange(self.saw_before, self.saw) == self.saw;
  self.saw = Fiber::kSawNothing;
  return same && (self.host || self.accesses_before == accesses);
}

// A long wait is looked at more rarely: a fiftieth of it is close enough. It never grows beyond
// what others have come to, however often a computation is taken for a wait.
static double step_of_polling(Fiber& self) {
  const double least = g_machine.poll_ns;
  // What a loop does between its looks: little, where it waits.
  const double between = self.host ? least : 10 * least;
  if (!only_looked(self) || self.time - self.polling_until > between) {
    self.polling_since = self.time;
  }
  const double grown = (self.time - self.polling_since) * 0.02;
  const double step = std::max(least, std::min(grown, g_last_firm - self.time));
  self.polling_until = self.time + step;
  return step;
}

bool timed_poll() {
  Fiber* self = g_current;
  const bool alone = g_timed_queue.size() == g_polls;
  // When only others that poll are left and nothing has changed, the old rules find the deadlock.
  if (alone && self->polled_at == g_progress + 1) return false;
  self->polled_at = g_progress + 1;
  price_host_work(false);
  const double step = step_of_polling(*self);
  self->time += step;
  self->waited += step;
  sleep_until_turn(Aim::Polls);
  self->accesses_before = accesses_made() - g_stats.looks;
  return true;
}

// A host that computes pays for what it has done, until it is as late as the next of those that go
// on by themselves: it may wait for them after all. What it does beside nobody is priced only where
// it goes on to use the device.
static void pay_beside_others(Fiber& self) {
  HostThread& host = *self.host;
  g_host_work += host_tally();
  const double owed = static_cast<double>(host.work + g_host_work) * kHostWorkNs;
  const double least = g_other_times.empty() ? self.time + owed : g_other_times.top();
  const double paid = std::clamp(least - self.time, 0.0, owed);
  self.time += paid;
  host.work = static_cast<unsigned long long>((owed - paid) / kHostWorkNs);
  g_host_work = 0;
}

// Of a GPU thread, its own accesses are the price. In a host's set-up, which is not timed, a little
// passes where nothing has come of many steps.
void timed_step() {
  constexpr uint32_t kTurns = 64;
  Fiber& self = *g_current;
  if (std::exchange(self.computed_at, g_progress) != g_progress) self.turns_computed = 0;
  const bool beside = !g_other_times.empty() || g_polls > 0;
  if (self.host && beside && self.host->working) {
    pay_beside_others(self);
  } else if (self.host && beside && ++self.turns_computed > kTurns) {
    self.time += g_machine.poll_ns;
  }
  sleep_until_turn(Aim::Computes);
}

AtTime::AtTime(double time, double began)
    : time_(g_now), began_(g_began), fiber_(std::exchange(g_current, nullptr)) {
  g_now = std::max(time, fiber_ ? fiber_->time : g_now);
  g_began = began;
}
AtTime::~AtTime() {
  g_now = time_;
  g_began = began_;
  g_current = fiber_;
}

void at_time(double time, std::function<void()> event) {
  int index = static_cast<int>(g_timed_events.size());
  if (g_timed_free.empty()) {
    g_timed_events.push_back(std::move(event));
  } else {
    index = g_timed_free.back();
    g_timed_free.pop_back();
    g_timed_events[static_cast<std::size_t>(index)] = std::move(event);
  }
  push(time, nullptr, nullptr, index);
}

void timed_enqueue(Runnable* runnable) { push(key_of(*runnable), runnable, nullptr); }

Runnable* timed_next() {
  while (!g_timed_queue.empty()) {
    const Entry next = g_timed_queue.top();
    g_timed_queue.pop();
    g_polls -= next.aim == Aim::Polls;
    if (next.aim == Aim::Other) g_other_times.pop();
    g_now = g_began = next.time;
    if (next.event >= 0) {
      const auto index = static_cast<std::size_t>(next.event);
      const std::function<void()> event = std::move(g_timed_events[index]);
      g_timed_free.push_back(next.event);
      event();
      continue;
    }
    if (next.runnable) return next.runnable;
    Fiber* fiber = next.fiber;
    if (fiber->state == FiberState::Done) continue;
    fiber->state = FiberState::Ready;
    if (fiber->host) return fiber->host;
    fiber->block->ready.push_back(fiber);
    if (!fiber->block->queued) return fiber->block;
  }
  return nullptr;
}

bool timed_wake(Fiber* fiber) {
  if (!g_current || g_current != fiber) reach(*fiber, time_now(), g_current ? time_now() : g_began);
  if (fiber->time <= time_now()) return false;
  push(fiber->time, nullptr, fiber);
  return true;
}

}  // namespace warploom
