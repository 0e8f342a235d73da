#include "order/race.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "access/quick_access.h"
#include "behavior/carried.h"
#include "behavior/results.h"
#include "kernels/async_lane.h"
#include "kernels/kernel.h"
#include "machine/world.h"
#include "memory/memory.h"
#include "memory/variables.h"
#include "order/completions.h"
#include "order/equal_stores.h"
#include "order/history.h"
#include "order/history_read_only.h"
#include "order/host_suspects.h"
#include "report/report.h"

namespace warploom {

namespace {

// See GpuThread::has_suspect: a read of up to four words.
struct Suspect {
  Record write;
  Actor read;
  const char* address;
  Frames where;
  ReadWord words[kWidestAccess / 4];
};
std::unordered_map<const GpuThread*, Suspect> g_suspects;

// The bits of a word's bytes in `mask`.
uint32_t byte_bits(unsigned mask) {
  uint32_t bits = 0;
  for (unsigned byte = 0; byte < 4; byte++) {
    if (mask >> byte & 1) bits |= 0xFFu << 8 * byte;
  }
  return bits;
}

// From the addresses of the history to the memory that is accessed: variables lie elsewhere.
uintptr_t g_distance = 0;

enum class Kind { Read, Write, AtomicRead, AtomicWrite };

bool ended_before(OpId id, const Actor& actor) {
  if (id == 0) return true;
  const Op& op = op_of(id);
  return id != actor.op && op.kind != OpKind::Channel &&
         actor.clock->agent_time(op.agent) >= op.time;
}

bool ordered_in_block(const Record& record, const Actor& actor) {
  if (record.thread() == actor.thread || record.time() < actor.base) return true;
  if (record.thread() / 32 == actor.thread / 32 && record.time() < actor.warp_base) return true;
  return false;
}

bool ordered(const Record& record, const Actor& actor, bool record_is_write) {
  const Op& op = op_of(record.op());
  const Clock& clock = *actor.clock;
  if (op.kind == OpKind::Channel) {
    return record_is_write ? knows_landing(clock, op.channel, record.block())
                           : knows_reading(clock, op.channel, record.block());
  }
  const bool init = op.kind == OpKind::Kernel && is_init(record.block());
  const uint32_t block = init ? record.block() - kInitBlocks : record.block();
  if (record.op() == actor.op) {
    if (op.kind != OpKind::Kernel) return true;
    if (block == actor.block && ordered_in_block(record, actor)) return true;
  } else if (clock.agent_time(op.agent) >= op.time) {
    return true;
  }
  if (op.kind != OpKind::Kernel) return false;
  return record.time() == kMaxTime ||
         clock.covers_block(record.op(), block, record.thread(), record.time()) ||
         (init && clock.covers_block(record.op(), record.block(), record.thread(), record.time()));
}

// Enters a further word of the same read. False: it is another read, or got something else.
bool add_word(Suspect& suspect, const void* p, const ReadWord& read) {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(p) - suspect.address);
  if (offset >= kWidestAccess) return false;
  ReadWord& known = suspect.words[offset / 4];
  if (known.mask && (known.value ^ read.value) & byte_bits(known.mask & read.mask)) return false;
  known.value = read.value;
  known.mask |= read.mask;
  return true;
}

void remember_suspect(const Record& write, const Actor& actor, const void* p, unsigned mask) {
  GpuThread* thread = current_thread();
  const ReadWord read = read_word(p, mask);
  if (thread->has_suspect) {
    if (add_word(g_suspects[thread], p, read)) return;
    settle_suspect();
  }
  thread->has_suspect = true;
  g_suspects[thread] = {write, actor, static_cast<const char*>(p), capture_frames(), {read}};
}

// Compare-and-swap loops begin with a plain read of what others change atomically. `p`: the memory.
bool suspect_only(const Record& record, const Actor& actor, Kind kind, const void* p,
                  unsigned mask) {
  if (kind != Kind::Read || !record.atomic() || is_async(entered_block(actor))) return false;
  if (!current_thread()) return suspect_host_read(record, actor, p, mask);
  if (record.op() != actor.op) return false;
  remember_suspect(record, actor, p, mask);
  return true;
}

// A read that came before another thread's atomic: only the other order can show a stale value.
bool harmless_order(const Record& read, const Actor& actor, Kind kind) {
  return kind == Kind::AtomicWrite && read.op() == actor.op;
}

// One access to one cell of a granule, or to all of them.
struct Access {
  const Actor& actor;
  unsigned mask;
  Kind kind;
  uintptr_t address;
  Atomicity how{};
  Record record() const { return make_record(actor, mask, how); }
  bool writes() const { return kind == Kind::Write || kind == Kind::AtomicWrite; }
  bool atomic() const { return static_cast<bool>(how); }
  const void* place() const { return reinterpret_cast<const void*>(address); }
  const void* memory() const { return reinterpret_cast<const void*>(address + g_distance); }
};

bool conflicts(const Access& access, const Record& record, bool is_write) {
  return record.op() && (record.mask() & access.mask) &&
         !(access.atomic() && exclude_each_other(record, access.record())) &&
         !ordered(record, access.actor, is_write);
}

RaceView view_of(const Access& access, const Record& record) {
  RaceView view;
  view.atomic = access.atomic() && record.atomic();
  if (!view.atomic) return view;
  // What is left of the same accesses if their scopes reached all.
  Record before = record, now = access.record();
  constexpr uint64_t kAll = atomic_bits(Atomicity(3));
  before.bits |= kAll;
  now.bits |= kAll;
  view.divided = !exclude_each_other(before, now);
  return view;
}

void check_write(const Access& access, const Record& write) {
  if (access.writes()) note_overwritten(write, access.address, 1, access.actor.op);
  if (!conflicts(access, write, true)) return;
  const Actor& actor = access.actor;
  if (suspect_only(write, actor, access.kind, access.memory(), access.mask)) return;
  const bool by_threads =
      !is_async(write.block()) && !is_async(entered_block(actor)) && current_thread();
  if (access.kind == Kind::Write && write.op() == actor.op && !write.atomic() && by_threads) {
    remember_store(write, actor, access.mask, access.place(), g_distance);
  } else {
    report_race(write, true, actor, access.writes(), access.place(), view_of(access, write));
  }
}

void check_read(const Access& access, const Record& read) {
  if (!conflicts(access, read, false) || harmless_order(read, access.actor, access.kind)) return;
  if (access.kind == Kind::AtomicWrite && !read.atomic() &&
      suspect_earlier_read(read, access.actor, access.memory(), access.mask)) {
    return;
  }
  report_race(read, false, access.actor, true, access.place(), view_of(access, read));
}

// Which of the two read records a new one replaces: 0, 1, or -1 for none.
int slot_for(const Record (&reads)[2], const Record& record, const Actor& actor) {
  for (int slot = 0; slot < 2; slot++) {
    const Record& read = reads[slot];
    const bool same = read.op() == record.op() && read.block() == record.block() &&
                      read.thread() == record.thread();
    if (read.op() == 0 || same) return slot;
  }
  for (int slot = 0; slot < 2; slot++) {
    if (ordered(reads[slot], actor, false)) return slot;
  }
  // Keep the first; let the seed choose whether the newest replaces the second.
  return g_config.seed == 0 || random_below(2) ? 1 : -1;
}

void access_cell(Granule& granule, std::size_t cell, const Access& access) {
  check_write(access, granule.write.at(cell));
  const Record record = access.record();
  if (!access.writes()) {
    const int slot =
        slot_for({granule.reads[0].at(cell), granule.reads[1].at(cell)}, record, access.actor);
    if (slot >= 0) granule.reads[slot].set(cell, record);
    return;
  }
  for (Plane& reads : granule.reads) {
    check_read(access, reads.at(cell));
    if (!(reads.at(cell).mask() & ~access.mask)) reads.clear(cell);
  }
  granule.write.set(cell, record);
}

template <class Check>
void check_plane(const Plane& plane, Access access, Check&& check) {
  if (plane.uniform()) {
    check(access, plane.at(0));
    return;
  }
  if (plane.of_one_operation() && ended_before(plane.at(0).op(), access.actor)) return;
  for (std::size_t cell = 0; cell < kGranuleCells; cell++, access.address += 4) {
    check(access, plane.at(cell));
  }
}

// A whole granule: what was not accessed in parts is done at once.
void access_granule(const Actor& actor, uintptr_t address, Kind kind, Atomicity how) {
  Granule& granule = granule_of(address);
  const Access access{actor, 0xF, kind, address, how};
  const Record record = access.record();
  if (kind == Kind::Write) {
    if (granule.write.uniform()) {
      note_overwritten(granule.write.at(0), address, kGranuleCells, actor.op);
    }
    check_plane(granule.write, access, check_write);
    for (Plane& reads : granule.reads) {
      check_plane(reads, access, check_read);
      reads.set_all({});
    }
    granule.write.set_all(record);
    return;
  }
  if (kind == Kind::Read && granule.reads[0].uniform() && granule.reads[1].uniform()) {
    check_plane(granule.write, access, check_write);
    const int slot = slot_for({granule.reads[0].at(0), granule.reads[1].at(0)}, record, actor);
    if (slot >= 0) granule.reads[slot].set_all(record);
    return;
  }
  for (std::size_t cell = 0; cell < kGranuleCells; cell++) {
    access_cell(granule, cell, {actor, 0xF, kind, address + 4 * cell, how});
  }
}

void access_range(const Actor& actor, const void* address, std::size_t bytes, Kind kind,
                  Atomicity how = {}) {
  if (!g_config.race || bytes == 0) return;
  if (g_stores_pending) settle_stores();
  auto start = reinterpret_cast<uintptr_t>(address);
  if (!in_arena(address)) {
    start = shadow_of(address);
    if (!start) return;
  }
  g_distance = reinterpret_cast<uintptr_t>(address) - start;
  const uintptr_t end = start + bytes;
  uintptr_t word = start & ~uintptr_t{3};
  while (word < end) {
    if (word % kGranule == 0 && word >= start && end - word >= kGranule) {
      access_granule(actor, word, kind, how);
      word += kGranule;
      continue;
    }
    access_cell(granule_of(word), word % kGranule / 4,
                {actor, bytes_in_word(word, start, end), kind, word, how});
    word += 4;
  }
}

}  // namespace

Actor current_actor(uint32_t pc) {
  if (GpuThread* thread = current_thread()) {
    const Block& block = *thread->block;
    return {.op = block.op,
            .block = block.number,
            .thread = static_cast<uint16_t>(thread->linear),
            .time = block.time,
            .base = block.base,
            .warp_base = block.warp_base[thread->linear / 32],
            .clock = &effective_clock(*thread),
            .pc = pc};
  }
  HostThread& host = current_host();
  if (!host.op) {
    host.op = new_op({.kind = OpKind::Host,
                      .agent = host.agent,
                      .time = host.time,
                      .rank = current_rank(),
                      .name = "host",
                      .frames = {}});
  }
  return {.op = host.op, .clock = &host.clock, .pc = pc};
}

void access_in_word(uintptr_t address, unsigned mask, bool write, uint32_t pc) {
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  const auto* p = reinterpret_cast<const void*>(address + first);
  const auto bytes = static_cast<std::size_t>(std::popcount(mask));
  access_range(current_actor(pc), p, bytes, write ? Kind::Write : Kind::Read);
}

// Copies say themselves whom they bring what to.
static void note_read_of_result(const Actor& actor, const void* address, std::size_t bytes) {
  const OpKind kind = op_of(actor.op).kind;
  if (kind == OpKind::Host) {
    note_host_access(address, bytes, false, false);
  } else if (kind != OpKind::Kernel) {
    note_result_passes(address, bytes);
  }
}

static void note_write_of_result(const Actor& actor, const void* address, std::size_t bytes) {
  const OpKind kind = op_of(actor.op).kind;
  if (kind == OpKind::Host || kind == OpKind::Copy) {
    forget_results(address, bytes);
  } else {
    note_device_stores(address, bytes);
  }
}

void access_read(const Actor& actor, const void* address, std::size_t bytes) {
  if (g_carrying) note_carried(address, bytes, true, false);
  note_read_of_result(actor, address, bytes);
  access_range(actor, address, bytes, Kind::Read);
}
void access_write(const Actor& actor, const void* address, std::size_t bytes) {
  if (g_carrying) note_carried(address, bytes, false, false);
  note_write_of_result(actor, address, bytes);
  access_range(actor, address, bytes, Kind::Write);
}
void access_atomic(const Actor& actor, const void* address, std::size_t bytes, bool writes,
                   Atomicity atomic) {
  access_range(actor, address, bytes, writes ? Kind::AtomicWrite : Kind::AtomicRead, atomic);
}

bool is_ordered(const Record& record, const Actor& actor) { return ordered(record, actor, true); }

ReadWord read_word(const void* word, unsigned mask) {
  ReadWord read{.mask = mask};
  for (unsigned byte = 0; byte < 4; byte++) {
    if (!(mask >> byte & 1)) continue;
    read.value |= uint32_t{static_cast<const unsigned char*>(word)[byte]} << 8 * byte;
  }
  return read;
}

Compared compare_word(const ReadWord& read, const void* place, const void* address, unsigned bytes,
                      const uint64_t (&expected)[2]) {
  const auto at = reinterpret_cast<uintptr_t>(place);
  const auto from = reinterpret_cast<uintptr_t>(address);
  const auto* wanted = reinterpret_cast<const unsigned char*>(expected);
  Compared result = Compared::Elsewhere;
  for (unsigned byte = 0; byte < 4; byte++) {
    const uintptr_t offset = at + byte - from;
    if (!(read.mask >> byte & 1) || offset >= std::min<std::size_t>(bytes, sizeof expected))
      continue;
    if (wanted[offset] != (read.value >> 8 * byte & 0xFF)) return Compared::Different;
    result = Compared::Same;
  }
  return result;
}

void check_suspect(const void* address, unsigned bytes, const uint64_t (&expected)[2]) {
  GpuThread& thread = *current_thread();
  Suspect& suspect = g_suspects[&thread];
  bool is_checked = true;
  for (std::size_t i = 0; i < std::size(suspect.words); i++) {
    ReadWord& word = suspect.words[i];
    if (compare_word(word, suspect.address + 4 * i, address, bytes, expected) == Compared::Same) {
      word.mask = 0;
    }
    is_checked &= word.mask == 0;
  }
  if (!is_checked) return;
  thread.has_suspect = false;
  g_suspects.erase(&thread);
}

void settle_suspect() {
  GpuThread& thread = *current_thread();
  if (!thread.has_suspect) return;
  thread.has_suspect = false;
  const Suspect suspect = g_suspects[&thread];
  g_suspects.erase(&thread);
  report_race(suspect.write, true, suspect.read, false, suspect.address, {.where = suspect.where});
}

}  // namespace warploom
