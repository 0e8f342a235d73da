#include "order/equal_stores.h"

#include <cstring>
#include <unordered_set>
#include <vector>

#include "behavior/spoil.h"
#include "kernels/kernel.h"
#include "order/stale.h"
#include "report/report.h"

namespace warploom {

bool g_stores_pending = false;

namespace {

struct Store {
  Record before;
  Actor actor;
  Clock clock;
  const void* address;  // of its history
  const char* memory;
  unsigned mask;
  uint32_t old;
  RaceView view;
};
std::vector<Store> g_stores;

bool same_value(const Store& store) {
  uint32_t now = 0;
  std::memcpy(&now, store.memory, sizeof now);
  for (unsigned byte = 0; byte < 4; byte++) {
    if ((store.mask >> byte & 1) && ((now ^ store.old) >> (8 * byte) & 0xFF)) return false;
  }
  return true;
}

}  // namespace

void remember_store(const Record& before, const Actor& actor, unsigned mask, const void* p,
                    uintptr_t distance) {
  // The place is enough for all but the first time; frames are slow.
  static std::unordered_set<uint64_t> known;
  RaceView view;
  view.where.pc[0] = actor.pc;
  if (known.insert(uint64_t{before.pc()} << 32 | actor.pc).second) view.where = capture_frames();
  const Kernel& kernel = *current_thread()->block->kernel;
  view.rank = kernel.rank;
  view.kernel = kernel.name;
  const auto memory = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(p) + distance);
  uint32_t old = 0;
  std::memcpy(&old, memory, sizeof old);
  g_stores.push_back({before, actor, *actor.clock, p, memory, mask, old, view});
  g_stores_pending = true;
}

void settle_stores() {
  put_newest_back();
  if (g_spoiling) settle_spoiled();
  std::vector<Store> stores;
  stores.swap(g_stores);
  g_stores_pending = false;
  for (Store& store : stores) {
    store.actor.clock = &store.clock;
    store.view.harmless = same_value(store);
    report_race(store.before, true, store.actor, true, store.address, store.view);
  }
}

}  // namespace warploom
