#include "race.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "equal_stores.h"
#include "history.h"
#include "kernel.h"
#include "memory.h"
#include "report.h"
#include "variables.h"
#include "world.h"

namespace warploom {

namespace {

// See GpuThread::has_suspect.
struct Suspect {
  Record write;
  Actor read;
  const void* address;
  Frames where;
};
std::unordered_map<const GpuThread*, Suspect> g_suspects;

// From the addresses of the history to the memory that is accessed: variables lie elsewhere.
uintptr_t g_distance = 0;

enum class Kind { Read, Write, AtomicRead, AtomicWrite };

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

// A race between two places is told once; it often recurs at every element.
bool first_time(const Record& record, const Actor& actor, bool harmless) {
  static std::unordered_set<uint64_t> races, harmless_races;
  auto& known = harmless ? harmless_races : races;
  const auto place = [](uint32_t pc, OpId op) {
    return op_of(op).kind == OpKind::Kernel || op_of(op).kind == OpKind::Host ? pc : op;
  };
  return known.insert(uint64_t{place(record.pc(), record.op)} << 32 | place(actor.pc, actor.op))
      .second;
}

}  // namespace

void report_race(const Record& record, bool before_writes, const Actor& actor, bool now_writes,
                 const void* p, const RaceView& view) {
  if (!first_time(record, actor, view.harmless)) return;
  const Op& before = op_of(record.op);
  const Op& now = op_of(actor.op);
  const auto [kind, hint] = classify(before, before_writes, now, now_writes, space_of(p));
  FindingInfo info{.kind = kind, .message = "", .hint = hint, .where = view.where};
  if (view.kernel) {
    info.rank = view.rank;
    info.kernel = view.kernel;
  }
  info.warning = view.harmless;
  if (info.warning) {
    info.hint =
        "both store the same value, which works on today's devices; let one thread store, or use "
        "an atomic";
  }
  const GpuThread* thread = current_thread();
  const bool host_runs = !thread && now.kind == OpKind::Host;
  if (thread ? thread->block->saw_narrow_scope : host_runs && current_host().saw_narrow_scope) {
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
    info.other_rank = now.rank;
    info.host = true;
    report_finding(std::move(info));
    return;
  }
  if (before.kind == OpKind::Kernel || before.kind == OpKind::Host) {
    info.other.pc[0] = record.pc();
  } else {
    info.other = before.frames;
  }
  info.other_rank = before.rank;
  report_finding(std::move(info));
}

namespace {

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
    } else if (kind == Kind::Write && cell.write.op == actor.op && !cell.write.atomic() &&
               current_thread()) {
      remember_store(cell.write, actor, mask, p, g_distance);
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

// A whole granule: one cell stands for all, unless it was accessed in parts.
void access_granule(const Actor& actor, uintptr_t address, Kind kind) {
  Granule& granule = granule_of(address);
  if (!granule.expanded) {
    access_cell(granule.uniform, actor, 0xF, kind, reinterpret_cast<void*>(address));
    return;
  }
  Cell* cells = cells_of(address);
  for (std::size_t i = 0; i < kGranuleCells; i++) {
    access_cell(cells[i], actor, 0xF, kind, reinterpret_cast<void*>(address + 4 * i));
  }
  if (kind == Kind::Write) granule = {cells[0], 0};
}

void access_range(const Actor& actor, const void* address, std::size_t bytes, Kind kind) {
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
      access_granule(actor, word, kind);
      word += kGranule;
      continue;
    }
    unsigned mask = 0xF;
    if (word < start) mask &= 0xFu << (start - word);
    if (word + 4 > end) mask &= 0xFu >> (word + 4 - end);
    access_cell(cell_of(word), actor, mask, kind, reinterpret_cast<void*>(word));
    word += 4;
  }
}

const Clock& effective_clock(const GpuThread& thread) {
  return thread.has_own_clock ? thread.own : thread.block->clock;
}

}  // namespace

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
  report_race(suspect.write, true, suspect.read, false, suspect.address, {.where = suspect.where});
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
