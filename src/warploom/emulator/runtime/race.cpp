#include "race.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <unordered_map>

#include "kernel.h"
#include "memory.h"
#include "report.h"
#include "world.h"

namespace warploom {

namespace {

// One remembered access. `bits`: pc 27, thread 10, byte mask 4, atomic 1, time 22.
struct Record {
  OpId op = 0;
  uint32_t block = 0;  // of a channel: the put's sequence number
  uint64_t bits = 0;

  uint32_t pc() const { return static_cast<uint32_t>(bits & 0x7FFFFFF); }
  uint16_t thread() const { return static_cast<uint16_t>(bits >> 27 & 0x3FF); }
  unsigned mask() const { return static_cast<unsigned>(bits >> 37 & 0xF); }
  bool atomic() const { return bits >> 41 & 1; }
  uint32_t time() const { return static_cast<uint32_t>(bits >> 42); }
};
constexpr uint32_t kMaxTime = (1u << 22) - 1;

// The history of four bytes: the last write and two reads. Two reads are enough to find a race in
// some schedule; which ones are kept varies with the seed.
struct Cell {
  Record write;
  Record reads[2];
};
static_assert(sizeof(Cell) == 48);

constexpr uintptr_t kShadowBase = 0x200000000000;

// See GpuThread::has_suspect.
struct Suspect {
  Record write;
  Actor read;
  const void* address;
  Frames where;
};
std::unordered_map<const GpuThread*, Suspect> g_suspects;

enum class Kind { Read, Write, AtomicRead, AtomicWrite };

// deque: `op_of` references stay valid.
std::deque<Op> g_ops(1);
AgentId g_agents = 0;

Cell* cell_of(uintptr_t p) {
  return reinterpret_cast<Cell*>(kShadowBase + ((p - kArenaBase) >> 2) * sizeof(Cell));
}

Record make_record(const Actor& actor, unsigned mask, bool atomic) {
  const uint32_t time = std::min(actor.time, kMaxTime);
  const Op& op = op_of(actor.op);
  Record record;
  record.op = actor.op;
  record.block = op.kind == OpKind::Channel ? actor.time : actor.block;
  record.bits = (uint64_t{actor.pc} & 0x7FFFFFF) | uint64_t{actor.thread} << 27 |
                uint64_t{mask} << 37 | uint64_t{atomic} << 41 | uint64_t{time} << 42;
  return record;
}

bool ordered_in_block(const Record& record, const Actor& actor) {
  if (record.thread() == actor.thread || record.time() < actor.base) return true;
  if (record.thread() / 32 == actor.thread / 32 && record.time() < actor.warp_base) return true;
  return false;
}

bool ordered(const Record& record, const Actor& actor, bool record_is_write) {
  const Op& op = op_of(record.op);
  const Clock& clock = *actor.clock;
  if (op.kind == OpKind::Channel) {
    return record_is_write ? clock.covers_landing(op.channel, record.block)
                           : clock.covers_reading(op.channel, record.block);
  }
  if (record.op == actor.op) {
    if (op.kind != OpKind::Kernel) return true;
    if (record.block == actor.block && ordered_in_block(record, actor)) return true;
  } else if (clock.agent_time(op.agent) >= op.time) {
    return true;
  }
  if (op.kind != OpKind::Kernel) return false;
  return record.time() == kMaxTime ||
         clock.covers_block(record.op, record.block, record.thread(), record.time());
}

std::string describe(const Op& op, uint32_t block, uint16_t thread) {
  switch (op.kind) {
    case OpKind::Host:
      return format("host code of rank %d", op.rank);
    case OpKind::Kernel:
      return format("kernel %s on rank %d, block %u, thread %u", op.name, op.rank, block, thread);
    case OpKind::Channel:
      return format("a %s of rank %d", op.name, op.rank);
    default:
      return format("%s on rank %d", op.name, op.rank);
  }
}

// What the two accesses are to each other decides the name of the defect.
struct Classified {
  const char* kind;
  const char* hint;
};
Classified classify(const Op& before, bool before_writes, const Op& now, bool now_writes,
                    Space space) {
  const bool put_before = before.kind == OpKind::Channel;
  const bool put_now = now.kind == OpKind::Channel;
  if (put_before && put_now && before_writes && now_writes) {
    return {"overlapping_puts",
            "give each put its own bytes, or order them: wait for the first one's signal before "
            "the second is issued"};
  }
  if (put_now && now_writes) {
    return {"destination_overwrite",
            "let the receiver say that it is done (a barrier or signal) before the put is issued"};
  }
  if (put_before && before_writes) {
    if (!now_writes) {
      return {"missing_wait",
              "wait with acquire for the signal that covers the put (a weak signal covers its own "
              "put only), or for a barrier with a Put fence"};
    }
    return {"destination_overwrite",
            "wait for the put to arrive before its destination is written again"};
  }
  if (put_before) {
    return {"source_reuse", "flush the put's context before the source is written again"};
  }
  if (space == Space::Shared) {
    return {"shared_memory_race", "put __syncthreads() between the two accesses"};
  }
  if ((now.kind == OpKind::Host && !now_writes) ||
      (before.kind == OpKind::Host && !before_writes)) {
    return {"readback_before_sync",
            "synchronise the stream before the host reads what it copies or computes"};
  }
  if (before.kind == OpKind::Host || now.kind == OpKind::Host) {
    return {"data_race", "synchronise the stream before the host touches this memory again"};
  }
  if (before.kind != OpKind::Kernel || now.kind != OpKind::Kernel || &before != &now) {
    if (before.rank == now.rank) {
      return {"data_race", "order the two streams: an event, or one stream for both"};
    }
    return {"data_race",
            "order the ranks: a barrier with release and acquire between the two accesses"};
  }
  return {"data_race", "order the two threads: a barrier, or release and acquire on a flag"};
}

void report_race(const Record& record, bool before_writes, const Actor& actor, bool now_writes,
                 const void* p, const Frames& where = {}) {
  const Op& before = op_of(record.op);
  const Op& now = op_of(actor.op);
  const auto [kind, hint] = classify(before, before_writes, now, now_writes, space_of(p));
  FindingInfo info{.kind = kind, .message = "", .hint = hint, .where = where};
  if (GpuThread* thread = current_thread(); thread && thread->saw_narrow_scope) {
    info.kind = "scope_too_narrow";
    info.hint =
        "widen the scope of the fence or atomic: device scope between blocks, system scope "
        "between devices";
  }
  info.message =
      format("%s by %s is not ordered after the %s by %s", now_writes ? "write" : "read",
             describe(now, actor.block, actor.thread).c_str(), before_writes ? "write" : "read",
             describe(before, record.block, record.thread()).c_str());
  if (now.kind != OpKind::Kernel && now.kind != OpKind::Host) {
    info.where = now.frames;
    info.rank = now.rank;
  }
  if (now.kind == OpKind::Channel && g_current) info.where = capture_frames();
  if (before.kind == OpKind::Host && !before_writes) {
    // The host read too early; the copy or kernel that came later is the second place.
    info.other = info.where.pc[0] ? info.where : capture_frames();
    info.where = {};
    info.where.pc[0] = record.pc();
    info.rank = before.rank;
    info.host = true;
    report_finding(std::move(info));
    return;
  }
  if (before.kind == OpKind::Kernel || before.kind == OpKind::Host) {
    info.other.pc[0] = record.pc();
  } else {
    info.other = before.frames;
  }
  report_finding(std::move(info));
}

// Compare-and-swap loops begin with a plain read of what others change atomically.
bool suspect_only(const Record& record, const Actor& actor, Kind kind) {
  return kind == Kind::Read && record.atomic() && record.op == actor.op && current_thread();
}

// A read that came before another thread's atomic: only the other order can show a stale value.
bool harmless_order(const Record& read, const Actor& actor, Kind kind) {
  return kind == Kind::AtomicWrite && read.op == actor.op;
}

constexpr uintptr_t kWidestAccess = 16;

void remember_suspect(const Record& write, const Actor& actor, const void* p) {
  GpuThread* thread = current_thread();
  if (thread->has_suspect) {
    const auto first = reinterpret_cast<uintptr_t>(g_suspects[thread].address);
    // The further words of one wide read.
    if (reinterpret_cast<uintptr_t>(p) - first < kWidestAccess) return;
    settle_suspect(nullptr);
  }
  thread->has_suspect = true;
  g_suspects[thread] = {write, actor, p, capture_frames()};
}

void remember_read(Cell& cell, const Record& record, const Actor& actor) {
  for (Record& slot : cell.reads) {
    const bool same =
        slot.op == record.op && slot.block == record.block && slot.thread() == record.thread();
    if (slot.op == 0 || same) {
      slot = record;
      return;
    }
  }
  for (Record& slot : cell.reads) {
    if (ordered(slot, actor, false)) {
      slot = record;
      return;
    }
  }
  // Keep the first; let the seed choose whether the newest replaces the second.
  if (g_config.seed == 0 || random_below(2)) cell.reads[1] = record;
}

void access_cell(Cell& cell, const Actor& actor, unsigned mask, Kind kind, const void* p) {
  const bool writes = kind == Kind::Write || kind == Kind::AtomicWrite;
  const bool atomic = kind == Kind::AtomicRead || kind == Kind::AtomicWrite;
  const auto conflicts = [&](const Record& record, bool is_write) {
    return record.op && (record.mask() & mask) && !(atomic && record.atomic()) &&
           !ordered(record, actor, is_write);
  };
  if (conflicts(cell.write, true)) {
    if (suspect_only(cell.write, actor, kind)) {
      remember_suspect(cell.write, actor, p);
    } else {
      report_race(cell.write, true, actor, writes, p);
    }
  }
  const Record record = make_record(actor, mask, atomic);
  if (!writes) {
    remember_read(cell, record, actor);
    return;
  }
  for (Record& read : cell.reads) {
    if (conflicts(read, false) && !harmless_order(read, actor, kind)) {
      report_race(read, false, actor, true, p);
    }
    if (!(read.mask() & ~mask)) read = {};
  }
  cell.write = record;
}

void access_range(const Actor& actor, const void* address, std::size_t bytes, Kind kind) {
  if (!g_config.race || bytes == 0 || !in_arena(address)) return;
  const auto start = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = start + bytes;
  for (uintptr_t word = start & ~uintptr_t{3}; word < end; word += 4) {
    unsigned mask = 0xF;
    if (word < start) mask &= 0xFu << (start - word);
    if (word + 4 > end) mask &= 0xFu >> (word + 4 - end);
    access_cell(*cell_of(word), actor, mask, kind, reinterpret_cast<void*>(word));
  }
}

const Clock& effective_clock(const GpuThread& thread) {
  return thread.has_own_clock ? thread.own : thread.block->clock;
}

}  // namespace

void create_shadow(int devices, std::size_t device_bytes) {
  const auto map = [](uintptr_t arena, std::size_t bytes) {
    auto* start = reinterpret_cast<void*>(cell_of(arena));
    void* got = mmap(start, bytes / 4 * sizeof(Cell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != start) {
      std::perror("warploom-emu: cannot reserve address space for the access history");
      std::exit(70);
    }
  };
  const std::size_t span = std::min(kDeviceStride, device_bytes * 2);
  for (int i = 0; i < devices; i++)
    map(kArenaBase + kDeviceStride * static_cast<uintptr_t>(i), span);
  map(kSharedBase, kSharedSlot * std::size_t{kSharedSlots});
  map(kPinnedBase, kPinnedBytes);
}

OpId new_op(const Op& op) {
  g_ops.push_back(op);
  return static_cast<OpId>(g_ops.size() - 1);
}
const Op& op_of(OpId id) { return g_ops[id]; }
AgentId new_agent() { return g_agents++; }

Actor current_actor(uint32_t pc) {
  if (GpuThread* thread = current_thread()) {
    const Block& block = *thread->block;
    return {.op = block.kernel->op->op,
            .block = block.number,
            .thread = thread->linear,
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

void access_read(const Actor& actor, const void* address, std::size_t bytes) {
  access_range(actor, address, bytes, Kind::Read);
}
void access_write(const Actor& actor, const void* address, std::size_t bytes) {
  access_range(actor, address, bytes, Kind::Write);
}
void access_atomic(const Actor& actor, const void* address, std::size_t bytes, bool writes) {
  access_range(actor, address, bytes, writes ? Kind::AtomicWrite : Kind::AtomicRead);
}

void settle_suspect(const void* address) {
  GpuThread& thread = *current_thread();
  if (!thread.has_suspect) return;
  thread.has_suspect = false;
  const Suspect suspect = g_suspects[&thread];
  g_suspects.erase(&thread);
  const auto word = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3};
  if (reinterpret_cast<uintptr_t>(suspect.address) - word < kWidestAccess) return;
  report_race(suspect.write, true, suspect.read, false, suspect.address, suspect.where);
}

void forget_history(const void* address, std::size_t bytes) {
  if (!g_config.race || bytes == 0 || !in_arena(address)) return;
  const auto start = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3};
  const std::size_t words = (reinterpret_cast<uintptr_t>(address) + bytes - start + 3) / 4;
  auto* first = reinterpret_cast<char*>(cell_of(start));
  const std::size_t size = words * sizeof(Cell);
  constexpr std::size_t kLarge = 1 << 20;
  if (size < kLarge) {
    std::fill_n(reinterpret_cast<Cell*>(first), words, Cell{});
    return;
  }
  // Whole pages go back to the system and read as zero again.
  char* page = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(first) + 4095) & ~4095ull);
  char* last = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(first) + size) & ~4095ull);
  std::fill(first, page, 0);
  madvise(page, static_cast<std::size_t>(last - page), MADV_DONTNEED);
  std::fill(last, first + size, 0);
}

Clock release_clock() {
  if (GpuThread* thread = current_thread()) {
    Block& block = *thread->block;
    Clock clock = effective_clock(*thread);
    const OpId op = block.kernel->op->op;
    const uint32_t warp_base = block.warp_base[thread->linear / 32];
    if (warp_base > block.base) {
      const unsigned first = thread->linear / 32 * 32u;
      for (unsigned lane = first; lane < first + 32 && lane < block.threads.size(); lane++) {
        clock.advance_block(op, block.number, block.base, static_cast<uint16_t>(lane),
                            warp_base - 1);
      }
    }
    clock.advance_block(op, block.number, block.base, thread->linear, block.time);
    block.time++;
    return clock;
  }
  HostThread& host = current_host();
  host.clock.advance(host.agent, host.time);
  host.time++;
  host.op = 0;
  return host.clock;
}

void acquire_clock(const Clock& clock) {
  GpuThread* thread = current_thread();
  if (!thread) {
    current_host().clock.join(clock);
    return;
  }
  if (!thread->has_own_clock) {
    thread->own = thread->block->clock;
    thread->has_own_clock = true;
    thread->block->with_own_clock.push_back(thread);
  }
  thread->own.join(clock);
}

}  // namespace warploom
