#include "order/stale_fences.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <vector>

namespace warploom::stale {

namespace {

constexpr std::size_t kMostFences = 1 << 18;  // threads and blocks whose fences are known

uint64_t g_number = 0;

// The numbers of a thread's fences, by how far they reach at least: of the last ones, and of the
// last ones that its block did something behind.
struct Fences {
  uint64_t last[3] = {}, followed[3] = {};
};
std::unordered_map<uint64_t, Fences> g_fences;
std::unordered_map<uint64_t, uint64_t> g_active;  // the last access of each block that fences
uint64_t g_fences_lost = 0;                       // nothing is known of fences up to this number

struct OwnStore {
  uintptr_t address = 0;
  unsigned bytes = 0;
  Ref<StrongStore> store;
};
// The last stores of each GPU thread, and of each block, at different places; the newest first. The
// tables are small and lose what collides in them.
template <std::size_t kStores, unsigned kBits>
struct OwnStores {
  struct Slot {
    uint64_t key = 0;
    std::array<OwnStore, kStores> stores;
  };
  std::vector<Slot> slots;
  void add(uint64_t key, uintptr_t address, unsigned bytes, const Ref<StrongStore>& store) {
    if (slots.empty()) slots.resize(std::size_t{1} << kBits);
    Slot& slot = slots[slot_of(key, kBits)];
    auto& stores = slot.stores;
    if (slot.key != key) {
      slot.key = key;
      stores = {};
    }
    std::size_t at = 0;
    while (at + 1 < kStores && stores[at].store && stores[at].address != address) at++;
    for (; at > 0; at--) stores[at] = std::move(stores[at - 1]);
    stores[0] = {address, bytes, store};
  }
  std::span<const OwnStore> of(uint64_t key) {
    if (slots.empty()) return {};
    const Slot& slot = slots[slot_of(key, kBits)];
    return slot.key == key ? std::span<const OwnStore>(slot.stores) : std::span<const OwnStore>();
  }
};
OwnStores<2, 16> g_of_threads;
OwnStores<4, 12> g_of_blocks;

// Two threads with one key would only hide something.
uint64_t key_of_block(const Record& record) {
  return (uint64_t{record.op()} << 32 | record.block()) * 0x9E3779B97F4A7C15;
}
uint64_t key_of(const Record& record) { return key_of_block(record) + record.thread() + 1; }

uint64_t last_active(const Record& record) {
  const auto it = g_active.find(key_of_block(record));
  return it == g_active.end() ? 0 : it->second;
}

uint64_t fence_of(uint64_t key, Scope scope) {
  const auto it = g_fences.find(key);
  return it == g_fences.end() ? 0 : it->second.last[static_cast<int>(scope)];
}

// The last one of its fences that something of its block came behind.
uint64_t last_followed(const Record& record, Scope scope) {
  const auto it = g_fences.find(key_of(record));
  if (it == g_fences.end()) return 0;
  const auto reach = static_cast<int>(scope);
  const uint64_t last = it->second.last[reach];
  return last_active(record) > last ? last : it->second.followed[reach];
}

}  // namespace

uint64_t next_number() { return ++g_number; }
uint64_t last_number() { return g_number; }

void note_fence(const Record& self, Scope scope) {
  if (!g_number) return;
  if (g_fences.size() >= kMostFences) {
    g_fences.clear();
    g_active.clear();
    g_fences_lost = g_number;
  }
  const uint64_t active = last_active(self);
  const uint64_t number = next_number();
  for (Fences* fences : {&g_fences[key_of(self)], &g_fences[key_of_block(self)]}) {
    for (int reach = 0; reach <= static_cast<int>(scope); reach++) {
      if (active > fences->last[reach]) fences->followed[reach] = fences->last[reach];
      fences->last[reach] = number;
    }
  }
}

void note_active(const Record& self) { g_active[key_of_block(self)] = next_number(); }

uint64_t last_fence(const Record& record, Scope scope) { return fence_of(key_of(record), scope); }

uint64_t last_block_fence(const Record& record, Scope scope) {
  return fence_of(key_of_block(record), scope);
}

Fenced fences_order(const StrongStore& store, const Record& reader, Scope scope) {
  if (store.number <= g_fences_lost) return Fenced::MayBe;
  const bool followed = last_followed(store.record, scope) >= store.number;
  if (op_of(reader.op()).kind == OpKind::Host) return followed ? Fenced::MayBe : Fenced::No;
  if (last_fence(reader, scope) <= store.number) return Fenced::No;
  const auto before = [&](const OwnStore& own) {
    return own.store && own.store->number < last_fence(reader, scope);
  };
  const auto own = g_of_blocks.of(key_of_block(reader));
  return followed && std::ranges::any_of(own, before) ? Fenced::MayBe : Fenced::IfSeen;
}

void note_own_store(uintptr_t address, unsigned bytes, const Ref<StrongStore>& store) {
  if (store->device < 0) return;
  g_of_threads.add(key_of(store->record), address, bytes, store);
  g_of_blocks.add(key_of_block(store->record), address, bytes, store);
}

const StrongStore* own_store_before(uintptr_t address, unsigned bytes, const Actor& actor,
                                    const Record& self, Scope scope) {
  const auto elsewhere = [&](const OwnStore& own) {
    return own.store && (own.address + own.bytes <= address || address + bytes <= own.address);
  };
  for (const OwnStore& own : g_of_threads.of(key_of(self))) {
    if (!elsewhere(own) || !same_thread(own.store->record, self)) continue;
    if (last_fence(self, scope) < own.store->number) return own.store.get();
  }
  const uint64_t fenced = fence_of(key_of_block(self), scope);
  for (const OwnStore& own : g_of_blocks.of(key_of_block(self))) {
    if (!elsewhere(own) || own.store->record.who != self.who) continue;
    if (fenced < own.store->number && is_ordered(own.store->record, actor)) return own.store.get();
  }
  return nullptr;
}

}  // namespace warploom::stale
