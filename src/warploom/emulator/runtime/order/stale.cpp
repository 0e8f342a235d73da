#include "order/stale.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "access/quick_access.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/equal_stores.h"
#include "order/stale_fences.h"
#include "order/stale_places.h"
#include "order/stale_told.h"
#include "order/stale_values.h"

namespace warploom::stale {

namespace {

constexpr unsigned kLongestChain = 16;
constexpr int kMostOlder = 64;  // reads of one store by a thread that miss it

// The read-modify-write that was made last: a store if it changes something; else it has only
// looked.
struct LastUpdate {
  const Fiber* fiber = nullptr;
  bool may_keep = false;  // what it has found, as far as is known
  uint32_t site = 0;
  uintptr_t address = 0;
  unsigned bytes = 0;
  Ref<StrongStore> store;
} g_update;

bool g_stores_elsewhere = false;  // than in shared memory

// Where only updates read: nobody looks before one of them has changed nothing.
bool g_looking = false, g_may_keep = false;
bool is_looking(const StrongAccess& access) {
  if (g_looking || !g_config.stale_by_updates) return true;
  g_looking = std::exchange(g_may_keep, access.reads && access.writes);
  return g_looking;
}

// What lies in memory instead of the newest value while a read takes place.
struct InPlace {
  char* address = nullptr;
  unsigned bytes = 0;
  OlderValue older{};
  uint64_t newest = 0;
} g_in_place;

// Whether nobody has stored to these bytes since, in whatever way.
bool is_newest(Place& place, unsigned mask) {
  const Record last = granule_of(place.address).write.at(place.address % kGranule / 4);
  const Record& known = place.last;
  constexpr uint64_t kElsewhere = kPlaceBits | mask_bits(0xF) | atomic_bits(Atomicity(0xF));
  if (last.atomic() && last.who == known.who && ((last.bits ^ known.bits) & ~kElsewhere) == 0) {
    return true;
  }
  if (last.mask() & mask) return false;
  place.forget(last.mask());
  return true;
}

Ref<StrongStore> note_store(Touch& touch, const Published* published) {
  const auto& [actor, self, access, address, pieces, where, site] = touch;
  StrongStore store{.record = self,
                    .number = next_number(),
                    .clock = *actor.clock,
                    .base = actor.base,
                    .warp_base = actor.warp_base,
                    .device = device_here(),
                    .order = access.order,
                    .scope = access.scope,
                    .is_update = access.reads,
                    .update = access.update};
  std::copy_n(where.pc, StrongStore::kFrames, store.pc);
  for (int reach = 0; store.device >= 0 && reach < 3; reach++) {
    store.fenced[reach] = last_block_fence(self, static_cast<Scope>(reach));
  }
  const Stored* found = access.reads ? touch.pieces.newest() : nullptr;
  if (found && found->store->length < kLongestChain) {
    store.continues = found->store;
    store.length = found->store->length + 1;
  }
  auto made = Ref<StrongStore>::make(std::move(store));
  for (const Piece& piece : touch.pieces) {
    Stored& stored = piece.place->push();
    stored.store = made;
    stored.mask = piece.mask;
    std::memcpy(&stored.before, touch.memory(piece.place->address), sizeof stored.before);
    stored.published_before = published ? std::make_unique<Published>(*published) : nullptr;
    piece.place->last = self;
  }
  return made;
}

bool in_question(uint32_t site) {
  static uint64_t asked = 0;
  const auto& sites = g_config.stale_sites;
  return std::ranges::find(sites, site) != sites.end() && ++asked % g_config.stale_every == 0;
}

// The last update has changed nothing: its place is as before.
void settle_update() {
  const LastUpdate last = std::exchange(g_update, {});
  if (!last.may_keep) return;
  note_keeping(last.site);
  for (const Piece& piece : pieces_of(last.address, last.bytes)) {
    if (!piece.place->size()) continue;
    Stored& stored = piece.place->at(0);
    if (stored.store == last.store) stored.mask = 0;
  }
}

// The elements that one instruction reads get older values together, as the first one does.
struct Vector {
  const Fiber* fiber = nullptr;
  uintptr_t start = 0, end = 0;
  uint64_t from = kNone;
  bool goes_on(uintptr_t address) const {
    return fiber == g_current && address > start && address < end;
  }
} g_vector;

// Whether an access that may miss the store is to miss it: always for who has missed it once.
bool is_asked(const Older& older, Touch& touch) {
  const auto same = [&](const Record& reader) { return same_thread(reader, touch.self); };
  const uint32_t site = tell(*older.data, older.missed, touch.self);
  Stored& newest = *touch.pieces.newest();
  if (!newest.given) newest.given = std::make_unique<std::vector<Record>>();
  return std::ranges::any_of(*newest.given, same) || in_question(site);
}

// A mere store that may come before the newest one, which then hides it.
std::optional<OlderValue> hidden_store(Touch& touch) {
  const Older older = hiding(touch);
  if (older.from == kNone || !is_asked(older, touch)) return std::nullopt;
  return OlderValue{.bytes = older.value};
}

std::optional<OlderValue> older_value(Touch& touch) {
  if (g_vector.goes_on(touch.address)) {
    if (g_vector.from == kNone) return std::nullopt;
    return value_of(touch, g_vector.from);
  }
  if (g_vector.fiber == g_current && touch.address == g_vector.start) g_vector.from = kNone;
  const Older older = oldest(touch);
  if (older.from == kNone) return std::nullopt;
  if (!is_asked(older, touch)) return std::nullopt;
  const auto same = [&](const Record& reader) { return same_thread(reader, touch.self); };
  auto& given = *touch.pieces.newest()->given;
  const OlderValue value = value_of(touch, older.from);
  note_seen(touch, older.from);
  // A few times for each thread: what was stored gets there in the end.
  given.push_back(touch.self);
  if (std::ranges::count_if(given, same) >= kMostOlder) note_seen(touch, kNone);
  if (g_vector.fiber == g_current && touch.address == g_vector.start) g_vector.from = older.from;
  return value;
}

}  // namespace

}  // namespace warploom::stale

namespace warploom {

std::optional<OlderValue> note_strong_access(const Actor& actor, const StrongAccess& access,
                                             const Published* published) {
  using namespace stale;
  if (!is_looking(access)) return std::nullopt;
  settle_update();
  auto address = reinterpret_cast<uintptr_t>(access.address);
  // Devices keep the order of volatile accesses of shared memory. They are nothing but a reason to
  // count on the order of others, and only behind a store to other memory.
  const bool shared = in_shared(address);
  if (shared && !g_stores_elsewhere) return std::nullopt;
  // Devices that put their variables in place in turn have a history each.
  if (!in_arena(access.address)) address = shadow_of(access.address);
  if (!address) return std::nullopt;
  if (access.bytes > sizeof(uint64_t)) {
    forget_line(address);
    return std::nullopt;
  }
  const Record self = make_record(actor, 0, {});
  Touch touch{actor, self, access, address, pieces_of(address, access.bytes)};
  for (const Piece& piece : touch.pieces) {
    if (piece.place->size() && !is_newest(*piece.place, piece.mask)) piece.place->clear();
  }
  if (access.writes) {
    touch.where = innermost_frames(StrongStore::kFrames);
    touch.site = hash_of(touch.where);
  }
  std::optional<OlderValue> older;
  if (touch.pieces.newest()) {
    if (!shared) older = access.reads ? older_value(touch) : hidden_store(touch);
    if (access.reads && !older) note_seen(touch, kNone);
  }
  if (access.writes && older) {  // what it stores is hidden by the newest store
    for (const Piece& piece : touch.pieces) piece.place->last = self;
  } else if (access.writes) {
    const auto store = note_store(touch, published);
    g_stores_elsewhere |= !shared;
    if (access.reads) {
      g_update = {g_current, true, touch.site, address, access.bytes, store};
    } else {
      note_own_store(address, access.bytes, store);
    }
  }
  const GpuThread* thread = current_thread();
  if (thread && thread->block->has_fenced) note_active(self);
  return older;
}

void note_change() {
  stale::g_may_keep = false;
  auto& update = stale::g_update;
  if (!update.may_keep) return;
  stale::note_changing(update.site);
  stale::note_own_store(update.address, update.bytes, update.store);
  update.may_keep = false;
}

void note_unused() {
  const auto& update = stale::g_update;
  if (!update.store || update.fiber != g_current) return;
  update.store->is_used = false;
  stale::note_reads_nothing(update.site);
}

void vector_access(const void* address, unsigned bytes) {
  auto start = reinterpret_cast<uintptr_t>(address);
  if (!in_arena(address)) start = shadow_of(address);
  stale::g_vector = {g_current, start, start + bytes};
}

void put_in_place(const void* address, unsigned bytes, const OlderValue& older) {
  auto& in_place = stale::g_in_place;
  in_place = {static_cast<char*>(const_cast<void*>(address)), bytes, older, 0};
  std::memcpy(&in_place.newest, address, bytes);
  std::memcpy(in_place.address, &older.bytes, bytes);
  g_stores_pending = true;
}

void put_newest_back() {
  const auto& [address, bytes, older, newest] = stale::g_in_place;
  if (!bytes) return;
  const bool kept = std::memcmp(address, &older.bytes, bytes) == 0;
  if (!kept && older.changes) {  // what lay there between the others' stores is not known any more
    for (const auto& piece : stale::pieces_of(older.changes, bytes)) piece.place->clear();
  }
  if (kept || older.repeated == Update::Other) {
    std::memcpy(address, &newest, bytes);
  } else {
    stale::repeat(older.repeated, address, bytes, older.bytes, newest);
  }
  stale::g_in_place = {};
}

void note_strong_fence(Scope scope) {
  stale::note_fence(make_record(current_actor(0), 0, {}), scope);
}

}  // namespace warploom
