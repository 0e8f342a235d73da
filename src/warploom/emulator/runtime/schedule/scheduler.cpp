#include "schedule/scheduler.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/mix_bits.h"
#include "kernels/kernel.h"
#include "kernels/one_at_a_time.h"
#include "kernels/start_order.h"
#include "machine/world.h"
#include "order/equal_stores.h"
#include "schedule/scheduler_idle.h"
#include "timing/timing.h"

namespace warploom {

uint64_t g_progress = 0, g_events = 0;

namespace {

// Rounds in which polling loops store to memory, and nothing else happens.
constexpr int kStoringRounds = 1 << 12;

std::deque<Runnable*> g_hosts, g_devices_ready, g_ready_network;
std::vector<Runnable*> g_any;   // everything, when the order is random
std::vector<Fiber*> g_polling;  // parked until something changes

// Fibers that re-read one place, and what it held.
struct PolledPlace {
  const void* address;
  unsigned bytes;
  char value[16];
  std::vector<Fiber*> fibers;
  bool changed() const { return std::memcmp(value, address, bytes) != 0; }
};
std::list<PolledPlace> g_polled_places;  // the oldest first
std::unordered_map<const void*, std::list<PolledPlace>::iterator> g_polled_place_at;
std::size_t g_place_pollers = 0;  // fibers

// What g_progress was when those looked again who had reason to, and when all did.
uint64_t g_polled_at = 0, g_all_polled_at = 0;
std::size_t g_woken = 0;  // since all did
uint64_t g_random_state = 0;
uint64_t g_events_seen = 0;
bool g_saw_other = false;  // a fiber that polls several places has read other values than before
int g_rounds_alone = 0;    // of polling loops, in which nothing happened but what they did
int g_computing = 0;       // of g_polling, how many may be in a long computation
uint64_t g_rounds = 0;
uint64_t g_looks = 0;  // of polling loops

bool lazy() { return g_config.timing == NetTiming::Lazy; }

Runnable* take(std::deque<Runnable*>& queue) {
  Runnable* next = queue.front();
  queue.pop_front();
  return next;
}

Runnable* next_runnable() {
  if (g_timed) return timed_next();
  if (random_schedule()) {
    if (g_any.empty()) return nullptr;
    std::size_t i = random_below(g_any.size());
    Runnable* next = g_any[i];
    g_any[i] = g_any.back();
    g_any.pop_back();
    return next;
  }
  // Lazy: hosts run ahead, devices follow, the network is last of all (see run_until_done).
  // Eager: the network and the devices overtake the hosts.
  if (lazy()) {
    if (!g_hosts.empty()) return take(g_hosts);
    if (!g_devices_ready.empty()) return take(g_devices_ready);
    return nullptr;
  }
  if (!g_ready_network.empty()) return take(g_ready_network);
  if (!g_devices_ready.empty()) return take(g_devices_ready);
  if (!g_hosts.empty()) return take(g_hosts);
  return nullptr;
}

void look_again(std::vector<Fiber*>& polling) {
  for (Fiber* fiber : polling) fiber->polling = false;
  wake_all(polling);
}

void release_unwatched() {
  g_computing = 0;
  look_again(g_polling);
}

// Lets all polling fibers look again.
bool release_pollers() {
  if (g_polling.empty() && g_polled_places.empty()) return false;
  release_unwatched();
  for (PolledPlace& place : g_polled_places) look_again(place.fibers);
  g_polled_places.clear();
  g_polled_place_at.clear();
  g_place_pollers = g_woken = 0;
  g_polled_at = g_all_polled_at = g_progress;
  return true;
}

// Lets those look again whose place has changed, or who re-read no one place. Others may wait for
// something else than what they re-read: now and then, and before anything is given up, all look.
bool release_changed() {
  // At random, who may look at any time sees more: the moment between two stores, say.
  if (random_schedule() || g_woken > 64 + 4 * g_place_pollers) return release_pollers();
  g_polled_at = g_progress;
  bool any = !g_polling.empty();
  g_woken += g_polling.size();
  release_unwatched();
  for (auto place = g_polled_places.begin(); place != g_polled_places.end();) {
    if (!place->changed()) {
      ++place;
      continue;
    }
    any = true;
    g_woken += place->fibers.size();
    g_place_pollers -= place->fibers.size();
    look_again(place->fibers);
    g_polled_place_at.erase(place->address);
    place = g_polled_places.erase(place);
  }
  return any;
}

// Nothing else can run. Have polling loops only repeated themselves since that was so last? They
// may store to memory each time, count their rounds say, which nobody waits for.
void count_rounds_alone() {
  const bool changed = std::any_of(g_polled_places.begin(), g_polled_places.end(),
                                   [](auto& p) { return p.changed(); });
  const bool alone = g_events == g_events_seen && !changed && !g_saw_other;
  g_events_seen = g_events;
  g_saw_other = false;
  g_rounds_alone = alone ? g_rounds_alone + 1 : 0;
}

// Lets those look again who have reason to. Loops that only repeat themselves have little: what is
// on its way comes first, and in the end they have none.
bool release_for_progress() {
  if (g_progress == g_all_polled_at) return false;
  count_rounds_alone();
  if (g_rounds_alone > 1 && (!g_ready_network.empty() || late_blocks_wait())) return false;
  if (g_rounds_alone > kStoringRounds) return false;
  return (g_progress != g_polled_at && release_changed()) || release_pollers();
}

// What looks like a wait may be a loop that computes, and looks each time whether it is to stop. It
// ends by itself, after as many looks as all such loops of a run have left.
bool look_once_more() {
  constexpr uint64_t kLooks = 4'000'000, kRounds = 10'000;
  static const uint64_t first = g_looks;
  static uint64_t rounds = 0;
  return g_looks - first < kLooks && ++rounds <= kRounds && release_pollers();
}

bool all_hosts_done() {
  for (const auto& process : g_processes) {
    for (const auto& thread : process->threads) {
      if (thread->fiber && thread->fiber->state != FiberState::Done) return false;
    }
  }
  return true;
}

void run_one(Runnable* next) {
  next->queued = false;
  next->run();
}

}  // namespace

uint64_t random_below(uint64_t bound) {
  // splitmix64: small, fast and the same everywhere.
  static bool seeded = false;
  if (!seeded) {
    g_random_state = g_config.seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D;
    seeded = true;
  }
  const uint64_t bits = mix_bits(g_random_state += 0x9E3779B97F4A7C15);
  return bound ? bits % bound : 0;
}

bool random_schedule() { return g_config.timing == NetTiming::Random; }

void enqueue(Runnable* runnable) {
  if (runnable->queued) return;
  runnable->queued = true;
  if (g_timed) {
    timed_enqueue(runnable);
  } else if (random_schedule()) {
    g_any.push_back(runnable);
  } else if (runnable->kind == Runnable::Kind::Host) {
    g_hosts.push_back(runnable);
  } else if (runnable->kind == Runnable::Kind::Network) {
    g_ready_network.push_back(runnable);
  } else {
    g_devices_ready.push_back(runnable);
  }
}

void wake(Fiber* fiber) {
  if (fiber->state == FiberState::Done) return;
  fiber->state = FiberState::Ready;
  if (g_timed && timed_wake(fiber)) return;
  if (fiber->host) {
    enqueue(fiber->host);
  } else {
    fiber->block->ready.push_back(fiber);
    enqueue(fiber->block);
  }
}

void wake_all(std::vector<Fiber*>& waiting) {
  // A fiber runs only after the scheduler is back in charge, so nothing is added meanwhile.
  for (Fiber* fiber : waiting) wake(fiber);
  waiting.clear();
}

void wake_block(Block& block, std::vector<Fiber*>& waiting) {
  if (g_timed) {
    wake_all(waiting);
    return;
  }
  if (block.ready.empty()) {
    block.ready.swap(waiting);
  } else {
    block.ready.insert(block.ready.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  enqueue(&block);
}

// The running fiber cannot go on: the next one of its block runs, or the scheduler decides.
static inline void switch_away() {
  if (g_stores_pending) settle_stores();
  Fiber* next = g_current->block ? g_current->block->next_fiber() : nullptr;
  if (next) {
    switch_to(next);
  } else {
    switch_to_scheduler();
  }
}

void block_current(const WaitReason& reason) {
  Fiber* self = g_current;
  self->reason = &reason;
  self->state = FiberState::Blocked;
  switch_away();
}

void yield_current() {
  if (!g_current) return;
  wake(g_current);
  switch_away();
}

static void park(std::vector<Fiber*>& list, const WaitReason* reason = nullptr) {
  Fiber* self = g_current;
  self->state = FiberState::Blocked;
  self->polling = true;
  g_looks++;
  g_saw_other |= self->saw != self->saw_before;
  self->saw_before = std::exchange(self->saw, Fiber::kSawNothing);
  static const WaitReason kPolling{"a loop that polls memory", {}};
  self->reason = reason ? reason : &kPolling;
  list.push_back(self);
  switch_away();
}

void poll_current(bool computing) {
  if (!g_current) return;
  if (g_timed && computing) return timed_step();
  if (g_timed && timed_poll()) return;
  if (computing) g_computing++;
  park(g_polling);
}

// Rounds that read the same have the same least hash (Broder 1997, min-wise hashing), wherever they
// begin; those that read other values seldom have it twice.
void note_look(const void* address, unsigned bytes) {
  uint64_t values = reinterpret_cast<uintptr_t>(address);
  for (unsigned i = 0; i < bytes; i++) {
    values = values * 0x9E3779B97F4A7C15 + static_cast<const unsigned char*>(address)[i];
  }
  values ^= values >> 31;
  g_current->saw = std::min(g_current->saw, values * 0x94D049BB133111EB);
}

void poll_word(const void* address, unsigned bytes, const WaitReason* reason) {
  if (!g_current || (g_timed && timed_poll())) return;
  auto known = g_polled_place_at.find(address);
  if (known == g_polled_place_at.end()) {
    g_polled_places.push_back({address, bytes, {}, {}});
    std::memcpy(g_polled_places.back().value, address, bytes);
    known = g_polled_place_at.emplace(address, std::prev(g_polled_places.end())).first;
  }
  g_place_pollers++;
  park(known->second->fibers, reason);
}

void WaitQueue::sleep(const WaitReason& reason) {
  waiting_.push_back(g_current);
  block_current(reason);
}

std::vector<WaitQueue::TimedWait*> WaitQueue::timed_;

void WaitQueue::sleep_timed(TimedWait& timed, const WaitReason& reason) {
  timed.fiber = g_current;
  timed_.push_back(&timed);
  sleep(reason);
  std::erase(timed_, &timed);
}

// Ends one wait that has a time-out. False: there is none.
bool expire_wait() {
  auto& timed = WaitQueue::timed_;
  const auto next = std::min_element(timed.begin(), timed.end(),
                                     [](auto* a, auto* b) { return a->cycles < b->cycles; });
  if (next == timed.end()) return false;
  WaitQueue::TimedWait& over = **next;
  timed.erase(next);
  over.expired = true;
  std::erase(over.queue->waiting_, over.fiber);
  note_event();
  wake(over.fiber);
  return true;
}

void WaitQueue::notify_all() {
  note_event();
  wake_all(waiting_);
}

void run_until_done() {
  for (;;) {
    // Pollers take their turn even while others run on for long.
    if (++g_rounds % 64 == 0 && g_progress != g_polled_at) release_changed();
    if (Runnable* next = next_runnable()) {
      run_one(next);
      continue;
    }
    if (all_hosts_done()) return;
    if (release_for_progress()) {
      end_idle_rounds();
      continue;
    }
    if (!g_ready_network.empty()) {
      run_one(take(g_ready_network));
      note_event();
      continue;
    }
    if (start_late_block()) {
      note_event();
      continue;
    }
    if (g_computing && release_pollers()) continue;
    if (may_look_again() && release_pollers()) continue;
    if (start_beside_others()) {
      end_idle_rounds();
      continue;
    }
    if (expire_wait()) {
      end_idle_rounds();
      continue;
    }
    if (look_once_more()) continue;
    report_deadlock();
  }
}

}  // namespace warploom
