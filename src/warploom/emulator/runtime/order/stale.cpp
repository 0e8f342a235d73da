#include "order/stale.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "access/quick_access.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/equal_stores.h"
#include "order/stale_fences.h"
#include "order/stale_places.h"
#include "order/stale_told.h"

namespace warploom::stale {

namespace {

constexpr unsigned kLongestChain = 16;
constexpr std::size_t kMostReaders = 512;  // of one store; more of them, and none is asked about
constexpr int kMostOlder = 3;              // reads of one store by a thread that miss it
constexpr uint64_t kNone = ~uint64_t{0};   // no store is missed

// Places of the program whose read-modify-writes have changed what they found, and those that have
// not at least once (`atomicAdd(p, 0)`); those at whose results nobody looks; the one that was made
// last.
std::unordered_set<uint32_t> g_changing, g_keeping, g_unused;
// That is a store if it changes something; else it has only looked.
struct LastUpdate {
  const Fiber* fiber = nullptr;
  uint32_t site = 0;  // 0: none, or it has changed something
  uintptr_t address = 0;
  unsigned bytes = 0;
  Ref<StrongStore> store;
} g_update;

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

// An access in terms of the places; addresses are those of the history.
struct Touch {
  const Actor& actor;
  const Record& self;
  const StrongAccess& access;
  uintptr_t address;
  Pieces pieces;
  Frames where{};  // of a store, and its number
  uint32_t site = 0;
  const char* memory(uintptr_t word) const {
    return static_cast<const char*>(access.address) + static_cast<intptr_t>(word - address);
  }
};

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

// Goes over the stores behind `data`, as its thread sees it, that the reader has seen, until
// `visit` returns true.
template <class Visit>
const StrongStore* later_store_seen(const StrongStore& data, const Touch& touch, Visit&& visit) {
  for (const Seen& seen : reader_of(touch.self).seen) {
    if (!seen.store) continue;
    if (!same_thread(seen.reader, touch.self) && !is_ordered(seen.reader, touch.actor)) continue;
    for (const StrongStore* store = seen.store.get(); store; store = store->continues.get()) {
      if (precedes(data, *store) && visit(*store)) return store;
    }
  }
  return nullptr;
}

bool fenced(const StrongStore& store, const Touch& touch) {
  const Scope scope = between(store, touch.self);
  const Fenced fenced = fences_order(store, touch.self, scope);
  if (fenced != Fenced::IfSeen) return fenced == Fenced::MayBe;
  const auto behind = [&](const StrongStore& later) {
    return later.fenced[static_cast<int>(scope)] > store.number;
  };
  return later_store_seen(store, touch, behind);
}

// Whether the memory model lets the access miss the store.
bool may_miss(const Stored& stored, const Touch& touch) {
  const auto& [actor, self, access, address, pieces, where, site] = touch;
  const StrongStore& store = *stored.store;
  if (!stored.may_be_older || same_thread(store.record, self)) return false;
  if (access.order == Order::SeqCst && store.order == Order::SeqCst) return false;
  const auto seen = [&](const Record& reader) {
    return same_thread(reader, self) || is_ordered(reader, actor);
  };
  if (std::ranges::any_of(stored.seen, seen) || is_ordered(store.record, actor)) return false;
  return !fenced(store, touch);
}

// Whoever wrote the program counts on the order of the store and one that the reader has seen, or
// of the reader's own stores and what it reads.
Missed why_missed(const StrongStore& store, const Touch& touch) {
  const auto any = [](const StrongStore&) { return true; };
  if (const StrongStore* later = later_store_seen(store, touch, any)) return {later, false};
  return {own_store_before(touch.address, touch.access.bytes, touch.actor, touch.self,
                           between(store, touch.self)),
          true};
}

// Goes over the stores that a read finds, for each word the newest one first; until `visit` returns
// false.
template <class Visit>
void each_found(Touch& touch, Visit&& visit) {
  for (const Piece& piece : touch.pieces) {
    for (unsigned depth = 0; depth < piece.place->size(); depth++) {
      Stored& stored = piece.place->at(depth);
      if ((stored.mask & piece.mask) && !visit(stored, piece)) break;
    }
  }
}

// What the access finds if it misses all stores from this number on.
uint64_t value_without(Touch& touch, uint64_t from) {
  uint64_t value = 0;
  std::memcpy(&value, touch.access.address, touch.access.bytes);
  each_found(touch, [&](const Stored& stored, const Piece& piece) {
    if (stored.store->number < from) return false;
    for (unsigned byte = 0; byte < 4; byte++) {
      if (!(piece.mask >> byte & 1)) continue;
      const uintptr_t at = piece.place->address + byte - touch.address;
      std::memcpy(reinterpret_cast<char*>(&value) + at,
                  reinterpret_cast<const char*>(&stored.before) + byte, 1);
    }
    return true;
  });
  return value;
}

struct Older {
  uint64_t from = kNone;  // the first store that is missed
  uint64_t value = 0;
  Missed missed{};
  const StrongStore* data = nullptr;  // the newest of these stores
};

// Whether an update can come before a store that it would have found, and what then lies there: one
// that keeps the value can, and any can where nobody looks at what the store has found. A mere
// store hides the update, and so does an exchange; what was added is added to its value instead.
bool may_come_before(const Stored& stored, const Touch& touch) {
  const StrongStore& store = *stored.store;
  if (!touch.access.writes) return true;
  if (g_unused.contains(touch.site)) return false;  // it reads nothing
  if (!store.is_update) return true;
  if (!store.is_used && (store.update == Update::Exchange || store.update == Update::AddInteger ||
                         store.update == Update::AddFloat)) {
    return true;
  }
  return g_keeping.contains(touch.site) && !g_changing.contains(touch.site);
}

// The oldest value that the access may find, if that is not the newest; it finds all words as they
// were at one time.
Older oldest(Touch& touch) {
  Older found{};
  uint64_t must_see = 0;
  std::array<uint64_t, Pieces::kMost * Place::kKept> numbers{};
  unsigned count = 0;
  each_found(touch, [&](const Stored& stored, const Piece&) {
    const uint64_t number = stored.store->number;
    if (number <= must_see) return false;
    bool missed = may_come_before(stored, touch) && may_miss(stored, touch);
    if (missed && (!found.data || number > found.data->number)) {
      const Missed why = why_missed(*stored.store, touch);
      missed = why.other;
      if (missed) {
        found.data = stored.store.get();
        found.missed = why;
      }
    }
    if (!missed) {
      must_see = number;
      return false;
    }
    numbers[count++] = number;
    return true;
  });
  if (!count) return {};
  uint64_t now = 0;
  std::memcpy(&now, touch.access.address, touch.access.bytes);
  std::sort(numbers.begin(), numbers.begin() + count);
  for (unsigned at = 0; at < count; at++) {
    if (numbers[at] <= must_see) continue;
    found.value = value_without(touch, numbers[at]);
    if (found.value == now) continue;
    found.from = numbers[at];
    return found;
  }
  return {};
}

// The access has read what was there before the stores from this number on.
void note_seen(Touch& touch, uint64_t from) {
  const auto same = [&](const Record& one) { return same_thread(one, touch.self); };
  for (const Piece& piece : touch.pieces) {
    unsigned left = piece.mask;
    for (unsigned depth = 0; left && depth < piece.place->size(); depth++) {
      Stored& stored = piece.place->at(depth);
      if (!(stored.mask & left) || stored.store->number >= from) continue;
      left &= ~stored.mask;
      if (same(stored.store->record) || std::ranges::any_of(stored.seen, same)) continue;
      if (stored.seen.size() < kMostReaders) {
        stored.seen.push_back(touch.self);
      } else {
        stored.may_be_older = false;
      }
      Reader& reader = reader_of(touch.self);
      const auto known = [&](const Seen& seen) {
        return seen.store && seen.store == stored.store && same(seen.reader);
      };
      if (std::ranges::any_of(reader.seen, known)) continue;
      reader.seen[reader.next++ % Reader::kKept] = {stored.store, touch.self};
    }
  }
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
  if (!last.site) return;
  g_keeping.insert(last.site);
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

// What a read that misses the stores from `from` on leaves to be done to memory.
OlderValue value_of(Touch& touch, uint64_t from) {
  OlderValue older{.bytes = value_without(touch, from)};
  if (touch.access.writes) older.changes = touch.address;
  bool only_adds = touch.access.writes;
  each_found(touch, [&](const Stored& stored, const Piece&) {
    if (stored.store->number < from) return false;
    older.published.reset();
    if (stored.published_before) older.published = *stored.published_before;
    const Update update = stored.store->update;
    only_adds = only_adds && (update == Update::AddInteger || update == Update::AddFloat);
    if (only_adds) older.added = update;
    return true;
  });
  if (!only_adds) older.added = Update::Other;
  return older;
}

std::optional<OlderValue> older_value(Touch& touch) {
  if (g_vector.goes_on(touch.address)) {
    if (g_vector.from == kNone) return std::nullopt;
    return value_of(touch, g_vector.from);
  }
  if (g_vector.fiber == g_current && touch.address == g_vector.start) g_vector.from = kNone;
  const Older older = oldest(touch);
  if (older.from == kNone) return std::nullopt;
  // Who has missed the store once may miss it again, wherever it looks.
  const auto same = [&](const Record& reader) { return same_thread(reader, touch.self); };
  const uint32_t site = tell(*older.data, older.missed, touch.self);
  Stored& newest = *touch.pieces.newest();
  if (!newest.given) newest.given = std::make_unique<std::vector<Record>>();
  auto& given = *newest.given;
  if (!std::ranges::any_of(given, same) && !in_question(site)) return std::nullopt;
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
  // Devices keep the order of volatile accesses of shared memory.
  if (in_shared(address)) return std::nullopt;
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
  if (access.reads && touch.pieces.newest()) {
    older = older_value(touch);
    if (!older) note_seen(touch, kNone);
  }
  if (access.writes && older) {  // what it stores is hidden by the newest store
    for (const Piece& piece : touch.pieces) piece.place->last = self;
  } else if (access.writes) {
    const auto store = note_store(touch, published);
    if (access.reads) {
      g_update = {g_current, touch.site, address, access.bytes, store};
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
  if (!update.site) return;
  stale::g_changing.insert(update.site);
  stale::note_own_store(update.address, update.bytes, update.store);
  update.site = 0;
}

void note_unused() {
  const auto& update = stale::g_update;
  if (!update.store || update.fiber != g_current) return;
  update.store->is_used = false;
  stale::g_unused.insert(stale::hash_of(update.store->where()));
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

namespace {

// What the others have added to what was there, added to what is there now.
template <class T>
void add_again(char* address, uint64_t older, uint64_t newest) {
  T before, after, now;
  std::memcpy(&before, &older, sizeof(T));
  std::memcpy(&after, &newest, sizeof(T));
  std::memcpy(&now, address, sizeof(T));
  now = static_cast<T>(now + static_cast<T>(after - before));
  std::memcpy(address, &now, sizeof(T));
}

}  // namespace

void put_newest_back() {
  const auto& [address, bytes, older, newest] = stale::g_in_place;
  if (!bytes) return;
  const bool kept = std::memcmp(address, &older.bytes, bytes) == 0;
  if (!kept && older.changes) {  // what lay there between the others' stores is not known any more
    for (const auto& piece : stale::pieces_of(older.changes, bytes)) piece.place->clear();
  }
  if (kept || older.added == Update::Other) {
    std::memcpy(address, &newest, bytes);
  } else if (older.added == Update::AddFloat && bytes == sizeof(float)) {
    add_again<float>(address, older.bytes, newest);
  } else if (older.added == Update::AddFloat && bytes == sizeof(double)) {
    add_again<double>(address, older.bytes, newest);
  } else if (older.added == Update::AddInteger && bytes == sizeof(uint32_t)) {
    add_again<uint32_t>(address, older.bytes, newest);
  } else if (older.added == Update::AddInteger && bytes == sizeof(uint64_t)) {
    add_again<uint64_t>(address, older.bytes, newest);
  }
  stale::g_in_place = {};
}

void note_strong_fence(Scope scope) {
  stale::note_fence(make_record(current_actor(0), 0, {}), scope);
}

}  // namespace warploom
