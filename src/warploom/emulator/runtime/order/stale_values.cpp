#include "order/stale_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "cuda/stream.h"
#include "kernels/kernel.h"
#include "order/stale_fences.h"

namespace warploom::stale {

namespace {

constexpr std::size_t kMostReaders = 512;  // of one store; more of them, and none is asked about

constexpr unsigned kNear = 32;  // reads of a block, the latest, that may have told it something
constexpr int kHops = 3;        // from thread to thread
constexpr int kPatience = 512;  // reads that are looked at for one

std::unordered_set<uint32_t> g_changing, g_keeping, g_unused;

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

// Whether the thread of a store knew of `data` when it made that one, by what it had read itself or
// by what others told it: so far back, and as long as there is patience.
bool knew_of(const StrongStore& data, const StrongStore& store, int hops, int& patience) {
  const Reader* reader = known_reader(store.record);
  const Actor actor = actor_of(store);
  for (unsigned back = 1; reader && back <= kNear; back++) {
    const Seen& seen = reader->seen[(reader->next - back) % Reader::kKept];
    if (!seen.store || --patience < 0) return false;
    if (seen.number >= store.number || seen.store->number < data.number) continue;
    if (!same_thread(seen.reader, store.record) && !is_ordered(seen.reader, actor)) continue;
    if (seen.store.get() == &data || precedes(data, *seen.store)) return true;
    if (hops > 1 && knew_of(data, *seen.store, hops - 1, patience)) return true;
  }
  return false;
}

// A store that the reader has seen, of a thread that knew of `data`. Without fences of all of them
// the reader need not know ("write-to-read causality").
const StrongStore* told_store(const StrongStore& data, const Touch& touch) {
  const Reader* reader = known_reader(touch.self);
  int patience = kPatience;
  for (unsigned back = 1; reader && back <= kNear; back++) {
    const Seen& seen = reader->seen[(reader->next - back) % Reader::kKept];
    if (!seen.store || patience <= 0) return nullptr;
    if (seen.store->number <= data.number) continue;
    if (!same_thread(seen.reader, touch.self) && !is_ordered(seen.reader, touch.actor)) continue;
    if (knew_of(data, *seen.store, kHops, patience)) return seen.store.get();
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

// Whether a kernel made the store that the running one may overlap, and has not waited for.
bool is_of_primary(const StrongStore& store) {
  const GpuThread* thread = current_thread();
  if (!thread) return false;
  const StreamOp& op = *thread->block->kernel->op;
  const Op& by = op_of(store.record.op());
  return op.overlaps && by.agent == op.primary_agent && by.time == op.primary_time;
}

// Whoever wrote the program counts on the order of the store and one that the reader has seen, or
// of the reader's own stores and what it reads.
Missed why_missed(const StrongStore& store, const Touch& touch) {
  const auto any = [](const StrongStore&) { return true; };
  if (const StrongStore* later = later_store_seen(store, touch, any)) return {later};
  if (const StrongStore* later = told_store(store, touch)) return {later, Why::Relayed};
  if (is_of_primary(store)) return {&store, Why::Early};
  return {own_store_before(touch.address, touch.access.bytes, touch.actor, touch.self,
                           between(store, touch.self)),
          Why::Own};
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

// Whether an update can come before a store that it would have found, and what then lies there: one
// that keeps the value can, and any can where nobody looks at what the store has found. A mere
// store hides the update, and so does an exchange; what others do is done to its value instead.
bool may_come_before(const Stored& stored, const Touch& touch) {
  const StrongStore& store = *stored.store;
  if (!touch.access.writes) return true;
  if (!store.is_update) return true;
  if (g_unused.contains(touch.site)) return false;  // it reads nothing
  if (!store.is_used && (store.update == Update::Exchange || can_be_repeated(store.update))) {
    return true;
  }
  return g_keeping.contains(touch.site) && !g_changing.contains(touch.site);
}

}  // namespace

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

Older hiding(Touch& touch) {
  Stored& newest = *touch.pieces.newest();
  const StrongStore& store = *newest.store;
  for (const Piece& piece : touch.pieces) {
    const Stored* found = piece.place->newest(piece.mask);
    if (!found || found->store != newest.store || (piece.mask & ~found->mask)) return {};
  }
  if (!may_miss(newest, touch)) return {};
  // Two that store at any time are found in both orders.
  Missed why = why_missed(store, touch);
  if (!why.other || why.why == Why::Own) return {};
  why.stores = true;
  Older found{.from = store.number, .missed = why, .data = &store};
  std::memcpy(&found.value, touch.access.address, touch.access.bytes);
  return found;
}

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
      reader.seen[reader.next++ % Reader::kKept] = {stored.store, touch.self, last_number()};
    }
  }
}

OlderValue value_of(Touch& touch, uint64_t from) {
  OlderValue older{.bytes = value_without(touch, from)};
  if (touch.access.writes) older.changes = touch.address;
  std::optional<Update> update;
  each_found(touch, [&](const Stored& stored, const Piece&) {
    if (stored.store->number < from) return false;
    older.published.reset();
    if (stored.published_before) older.published = *stored.published_before;
    const Update now = stored.store->update;
    update = !update || *update == now ? now : Update::Other;
    return true;
  });
  if (touch.access.writes && update && can_be_repeated(*update)) older.repeated = *update;
  return older;
}

void note_changing(uint32_t site) { g_changing.insert(site); }
void note_keeping(uint32_t site) { g_keeping.insert(site); }
void note_reads_nothing(uint32_t site) { g_unused.insert(site); }

}  // namespace warploom::stale
