#include "order/stale.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "access/quick_access.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/equal_stores.h"
#include "order/stale_places.h"
#include "report/report.h"

namespace warploom::stale {

namespace {

constexpr unsigned kLongestChain = 16;
constexpr std::size_t kMostReaders = 512;     // of one store; more of them, and none is asked about
constexpr std::size_t kMostFences = 1 << 18;  // threads whose fences are known
constexpr int kMostOlder = 3;                 // reads of one store by a thread that miss it
constexpr std::size_t kMostTold = 128;        // places of one run

uint64_t g_number = 0;  // stores, fences and what follows fences, so far

// The numbers of a thread's sequentially consistent fences, by how far they reach at least: of the
// last ones, and of the last ones that its block did something behind.
struct Fences {
  uint64_t last[3] = {}, followed[3] = {};
};
std::unordered_map<uint64_t, Fences> g_fences;
std::unordered_map<uint64_t, uint64_t> g_active;  // the last access of each block that fences
uint64_t g_fences_lost = 0;                       // nothing is known of fences up to this number

// The last stores of each GPU thread, and where: of two places, the last one of each.
struct OwnStore {
  uintptr_t address = 0;
  Ref<StrongStore> store;
};
std::unordered_map<uint64_t, std::array<OwnStore, 2>> g_own_stores;

// Places of the program whose read-modify-writes have changed what they found, and those that have
// not at least once (`atomicAdd(p, 0)`); the one that was made last.
std::unordered_set<uint32_t> g_changing, g_keeping;
// That is a store if it changes something; else it has only looked.
struct Update {
  uint32_t site = 0;  // 0: none, or it has changed something
  Place place;        // as it was before
  Ref<StrongStore> store;
} g_update;

// Where only updates read: nobody looks before one of them has changed nothing.
bool g_looking = false, g_may_keep = false;
bool is_looking(const StrongAccess& access) {
  if (g_looking || !g_config.stale_by_updates) return true;
  g_looking = std::exchange(g_may_keep, access.reads && access.writes);
  return g_looking;
}

uint32_t hash_of(const Frames& where) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const uint32_t pc : where.pc) hash = (hash ^ pc) * 16777619;
  return hash;
}

// What lies in memory instead of the newest value while a read takes place.
struct InPlace {
  void* address = nullptr;
  unsigned bytes = 0;
  uint64_t newest = 0;
} g_in_place;

// Two threads with one key would only hide something.
uint64_t key_of_block(const Record& record) {
  return (uint64_t{record.op()} << 32 | record.block()) * 0x9E3779B97F4A7C15;
}
uint64_t key_of(const Record& record) { return key_of_block(record) + record.thread(); }

Scope between(const StrongStore& store, const Record& reader, int device) {
  if (store.record.who == reader.who) return Scope::Block;
  return store.device >= 0 && store.device == device ? Scope::Device : Scope::System;
}

int device_here() {
  const GpuThread* thread = current_thread();
  return thread ? thread->block->kernel->device : -1;
}

uint64_t last_active(const Record& record) {
  const auto it = g_active.find(key_of_block(record));
  return it == g_active.end() ? 0 : it->second;
}

uint64_t last_fence(const Record& record, Scope scope) {
  const auto it = g_fences.find(key_of(record));
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

// Fences of both sides come in one order, which the run has shown; what the writer saw behind its
// own may prove that the reader's is the later one. The host always fences.
bool fences_order(const StrongStore& store, const Record& reader, Scope scope) {
  if (store.number <= g_fences_lost) return true;
  if (last_followed(store.record, scope) < store.number) return false;
  return op_of(reader.op()).kind == OpKind::Host || last_fence(reader, scope) > store.number;
}

Actor actor_of(const StrongStore& store) {
  return {.op = store.record.op(),
          .block = store.record.block(),
          .thread = store.record.thread(),
          .time = store.record.time(),
          .base = store.base,
          .warp_base = store.warp_base,
          .clock = &store.clock};
}

bool precedes(const StrongStore& store, const StrongStore& later) {
  if (later.number <= store.number) return false;
  return same_thread(store.record, later.record) || is_ordered(store.record, actor_of(later));
}

// Has anybody stored there since, in whatever way?
bool is_newest(const Place& place) {
  const Record last = granule_of(place.address).write.at(place.address % kGranule / 4);
  const uintptr_t word = place.address & ~uintptr_t{3};
  // Of other bytes of the word.
  if (!(last.mask() & bytes_in_word(word, place.address, place.address + place.bytes))) return true;
  const Record& known = place.last;
  constexpr uint64_t kElsewhere = kPlaceBits | mask_bits(0xF) | atomic_bits(Atomicity(0xF));
  return last.atomic() && last.who == known.who && ((last.bits ^ known.bits) & ~kElsewhere) == 0;
}

// A store behind `data`, as its thread sees it, that the reader has seen: whoever wrote the program
// counts on the order of the two. nullptr: none is known.
const StrongStore* later_store_seen(const StrongStore& data, const Actor& actor,
                                    const Record& self) {
  for (const Seen& seen : reader_of(self).seen) {
    if (!seen.store) continue;
    if (!same_thread(seen.reader, self) && !is_ordered(seen.reader, actor)) continue;
    for (const StrongStore* store = seen.store.get(); store; store = store->continues.get()) {
      if (precedes(data, *store)) return store;
    }
  }
  return nullptr;
}

// A store of the reader's own, to another place, that its read may overtake: only a sequentially
// consistent fence between them forbids that (PTX memory model; "store buffering"). nullptr: none.
const StrongStore* own_store_before(const Place& place, const Record& self, Scope scope) {
  const auto it = g_own_stores.find(key_of(self));
  if (it == g_own_stores.end()) return nullptr;
  for (const auto& [address, store] : it->second) {
    if (!store || address == place.address || !same_thread(store->record, self)) continue;
    if (last_fence(self, scope) < store->number) return store.get();
  }
  return nullptr;
}

// Why a read may give what was there before the newest store: the store behind it that the reader
// has seen, or one of the reader's own.
struct Missed {
  const StrongStore* other = nullptr;
  bool is_own = false;
};

Missed may_miss(const Place& place, const Actor& actor, const Record& self,
                const StrongAccess& access) {
  if (!place.may_be_older) return {};
  if (access.order == Order::SeqCst && place.newest->order == Order::SeqCst) return {};
  if (std::memcmp(&place.before, access.address, access.bytes) == 0) return {};
  const auto seen = [&](const Record& reader) {
    return same_thread(reader, self) || is_ordered(reader, actor);
  };
  if (std::ranges::any_of(place.seen, seen)) return {};
  const StrongStore& newest = *place.newest;
  if (is_ordered(newest.record, actor)) return {};
  const Scope scope = between(newest, self, device_here());
  if (fences_order(newest, self, scope)) return {};
  if (const StrongStore* later = later_store_seen(newest, actor, self)) return {later, false};
  return {own_store_before(place, self, scope), true};
}

void note_seen(Place& place, const Record& self) {
  for (const Record& reader : place.seen) {
    if (same_thread(reader, self)) return;
  }
  if (place.seen.size() < kMostReaders) {
    place.seen.push_back(self);
  } else {
    place.may_be_older = false;
  }
  Reader& reader = reader_of(self);
  for (Seen& known : reader.seen) {
    if (!known.store || !same_thread(known.reader, self)) continue;
    if (known.store == place.newest) return;
  }
  reader.seen[reader.next++ % Reader::kKept] = {place.newest, self};
}

void note_own(uintptr_t address, const Ref<StrongStore>& store) {
  if (store->device < 0) return;
  if (g_own_stores.size() >= kMostFences) g_own_stores.clear();
  auto& [last, before] = g_own_stores[key_of(store->record)];
  if (last.address != address) before = last;
  last = {address, store};
}

void note_store(Place& place, const Actor& actor, const Record& self, const StrongAccess& access,
                const Published* published) {
  StrongStore store{.record = self,
                    .number = ++g_number,
                    .clock = *actor.clock,
                    .base = actor.base,
                    .warp_base = actor.warp_base,
                    .device = device_here(),
                    .order = access.order,
                    .scope = access.scope,
                    .is_update = access.reads};
  const Frames where = innermost_frames(StrongStore::kFrames);
  std::copy_n(where.pc, StrongStore::kFrames, store.pc);
  if (access.reads && place.newest && place.newest->length < kLongestChain) {
    store.continues = place.newest;
    store.length = place.newest->length + 1;
  }
  place.newest = Ref<StrongStore>::make(std::move(store));
  if (!access.reads) note_own(place.address, place.newest);
  place.before = 0;
  std::memcpy(&place.before, access.address, access.bytes);
  place.published_before.reset();
  if (published) place.published_before = *published;
  place.last = self;
  place.may_be_older = true;
  place.seen.clear();
  place.given.clear();
}

const char* fence_name(Scope scope) {
  switch (scope) {
    case Scope::Block:
      return "__threadfence_block()";
    case Scope::Device:
      return "__threadfence()";
    default:
      return "__threadfence_system()";
  }
}

std::string advice(const StrongStore& data, const StrongStore& later, Scope scope) {
  const char* fence = fence_name(scope);
  const auto fenced = [&](Scope reach) {
    const uint64_t last = last_fence(data.record, reach);
    return last > data.number && last < later.number;
  };
  const bool releases = later.order != Order::Relaxed && later.order != Order::Acquire;
  if (fenced(scope) || (releases && later.scope >= scope)) {
    return format(
        "the writes are in order, the reads are not: %s between the read of the later "
        "write and this one, or load the later one with acquire",
        fence);
  }
  if (fenced(Scope::Block) || releases) {
    return format(
        "the scope does not reach the reader: %s between the two writes, or a release "
        "as wide",
        fence);
  }
  return format(
      "put the writes in order: %s between the two, or store the later one with "
      "release; and the reads: the same fence between them, or acquire",
      fence);
}

// Names the place, and tells of it once. The name holds for each run of the program.
uint32_t tell(const StrongStore& data, const Missed& missed, const Record& self) {
  static std::unordered_set<uint32_t> told;
  const Frames where = capture_frames();
  const uint32_t site = hash_of(where);
  if (told.size() >= kMostTold || !told.insert(site).second) return site;
  const Scope scope = between(data, self, device_here());
  FindingInfo info{.kind = kinds::stale_read,
                   .message = "",
                   .hint = missed.is_own
                               ? format("put %s between the write of each thread and its read of "
                                        "the other's: release and acquire let a read come before "
                                        "an earlier write",
                                        fence_name(scope))
                               : advice(data, *missed.other, scope),
                   .suspicion = true,
                   .where = where};
  info.site = site;
  info.other = data.where();
  info.later = missed.other->where();
  const Op& op = op_of(data.record.op());
  info.other_rank = op.rank;
  info.message = "the read may miss the write by " +
                 describe(op, data.record.block(), data.record.thread()) +
                 (missed.is_own ? ", although it comes behind a write of its own thread"
                                : ", although a later write has been seen");
  report_finding(std::move(info));
  return site;
}

bool in_question(uint32_t site) {
  static uint64_t asked = 0;
  const auto& sites = g_config.stale_sites;
  return std::ranges::find(sites, site) != sites.end() && ++asked % g_config.stale_every == 0;
}

// Who changes what it finds comes before a mere store, which then hides the change, and not before
// another update, which would have found it.
bool may_come_before(const StrongStore& newest, const StrongAccess& access) {
  if (!access.writes || !newest.is_update) return true;
  const uint32_t site = hash_of(innermost_frames(StrongStore::kFrames));
  return g_keeping.contains(site) && !g_changing.contains(site);
}

// The last update has changed nothing: its place is as before.
void settle_update() {
  if (!g_update.site) return;
  g_keeping.insert(g_update.site);
  g_update.site = 0;
  Place& place = place_at(g_update.place.address, g_update.place.bytes);
  if (!(place.newest == g_update.store)) return;
  const Record last = place.last;
  place = std::move(g_update.place);
  place.last = last;
}

void note_update(Place& place, const Actor& actor, const Record& self, const StrongAccess& access,
                 const Published* published) {
  const Ref<StrongStore> newest = place.newest;
  g_update.place = std::move(place);
  place = {.address = g_update.place.address, .bytes = g_update.place.bytes, .newest = newest};
  note_store(place, actor, self, access, published);
  g_update.store = place.newest;
  g_update.site = hash_of(place.newest->where());
}

// The elements that one instruction reads get older values together, as the first one does.
struct Vector {
  const Fiber* fiber = nullptr;
  uintptr_t start = 0, end = 0;
  bool older = false;
  bool goes_on(uintptr_t address) const {
    return fiber == g_current && address > start && address < end;
  }
} g_vector;

std::optional<OlderValue> older_value(Place& place, const Actor& actor, const Record& self,
                                      const StrongAccess& access) {
  const Missed missed = may_miss(place, actor, self, access);
  if (!missed.other) return std::nullopt;
  // Who has missed the store once may miss it again, wherever it looks.
  const auto same = [&](const Record& reader) { return same_thread(reader, self); };
  const uint32_t site = tell(*place.newest, missed, self);
  if (!std::ranges::any_of(place.given, same) && !in_question(site)) return std::nullopt;
  OlderValue older{place.before, place.published_before};
  // A few times for each thread: what was stored gets there in the end.
  place.given.push_back(self);
  if (std::ranges::count_if(place.given, same) >= kMostOlder) place.seen.push_back(self);
  return older;
}

}  // namespace

}  // namespace warploom::stale

namespace warploom {

std::optional<OlderValue> note_strong_access(const Actor& actor, const StrongAccess& access,
                                             const Published* published) {
  using namespace stale;
  if (!is_looking(access)) return std::nullopt;
  auto address = reinterpret_cast<uintptr_t>(access.address);
  // Devices keep the order of volatile accesses of shared memory.
  if (in_shared(address)) return std::nullopt;
  // Devices that put their variables in place in turn have a history each.
  if (!in_arena(access.address)) address = shadow_of(access.address);
  if (!address) return std::nullopt;
  if (access.bytes > sizeof(uint64_t)) {
    forget_line(address);
    return std::nullopt;
  }
  settle_update();
  stale::Place& place = place_at(address, access.bytes);
  if (place.newest && !is_newest(place)) place = {.address = address, .bytes = access.bytes};
  const Record self = make_record(actor, 0, {});
  std::optional<OlderValue> older;
  if (access.reads && place.newest && !same_thread(place.newest->record, self)) {
    if (g_vector.goes_on(address)) {
      if (g_vector.older) older = OlderValue{place.before, place.published_before};
    } else if (may_come_before(*place.newest, access)) {
      older = older_value(place, actor, self, access);
      if (g_vector.fiber == g_current && address == g_vector.start)
        g_vector.older = older.has_value();
    }
    if (!older) note_seen(place, self);
  }
  if (access.writes && older) {
    place.last = self;  // what it stores is hidden by the newest store
  } else if (access.writes && access.reads) {
    note_update(place, actor, self, access, published);
  } else if (access.writes) {
    note_store(place, actor, self, access, published);
  }
  const GpuThread* thread = current_thread();
  if (thread && thread->block->has_fenced) stale::g_active[key_of_block(self)] = ++g_number;
  return older;
}

void note_change() {
  stale::g_may_keep = false;
  stale::Update& update = stale::g_update;
  if (!update.site) return;
  stale::g_changing.insert(update.site);
  stale::note_own(update.place.address, update.store);
  update.site = 0;
}

void vector_access(const void* address, unsigned bytes) {
  auto start = reinterpret_cast<uintptr_t>(address);
  if (!in_arena(address)) start = shadow_of(address);
  stale::g_vector = {g_current, start, start + bytes};
}

void put_in_place(const void* address, unsigned bytes, const OlderValue& older) {
  auto& in_place = stale::g_in_place;
  in_place = {const_cast<void*>(address), bytes, 0};
  std::memcpy(&in_place.newest, address, bytes);
  std::memcpy(in_place.address, &older.bytes, bytes);
  g_stores_pending = true;
}

void put_newest_back() {
  auto& in_place = stale::g_in_place;
  if (in_place.bytes) std::memcpy(in_place.address, &in_place.newest, in_place.bytes);
  in_place.bytes = 0;
}

void note_strong_fence(Scope scope) {
  using namespace stale;
  if (!g_number) return;
  if (g_fences.size() >= kMostFences) {
    g_fences.clear();
    stale::g_active.clear();
    g_fences_lost = g_number;
  }
  const Record self = make_record(current_actor(0), 0, {});
  Fences& fences = g_fences[key_of(self)];
  const uint64_t active = last_active(self);
  ++g_number;
  for (int reach = 0; reach <= static_cast<int>(scope); reach++) {
    if (active > fences.last[reach]) fences.followed[reach] = fences.last[reach];
    fences.last[reach] = g_number;
  }
}

}  // namespace warploom
