// How a race is told: which defect it is, who did what, and where.
#include <cstring>
#include <unordered_set>
#include <utility>

#include "kernels/async_lane.h"
#include "kernels/kernel.h"
#include "memory/memory.h"
#include "order/early.h"
#include "order/equal_stores.h"
#include "order/host_copies.h"
#include "report/report.h"

namespace warploom {

std::string describe(const Op& op, uint32_t block, uint16_t thread) {
  switch (op.kind) {
    case OpKind::Host:
      return format("host code of rank %d", op.rank);
    case OpKind::Kernel:
      if (is_thread_copy(block)) {
        return format("a cp.async of kernel %s on rank %d, block %u, thread %u", op.name, op.rank,
                      block - kCopyBlocks, thread);
      }
      if (is_init(block)) block -= kInitBlocks;
      if (is_async(block)) {
        return format("a cp.async.bulk of kernel %s on rank %d", op.name, op.rank);
      }
      return format("kernel %s on rank %d, block %u, thread %u", op.name, op.rank, block, thread);
    case OpKind::Channel:
      return format("a %s of rank %d", op.name, op.rank);
    default:
      return format("%s on rank %d", op.name, op.rank);
  }
}

namespace {

// A call of MPI that was started, and reads or writes its buffer until it is completed.
bool is_mpi(const Op& op) {
  return op.kind == OpKind::Copy && std::strncmp(op.name, "MPI_", 4) == 0;
}

// What the two accesses are to each other decides the name of the defect.
struct Classified {
  const char* kind;
  const char* hint;
};
// The same where the earlier access is of a cp.async, whose thread waits for its own copies.
Classified classify_thread_copy(bool before_writes, bool now_writes) {
  return {
      !before_writes ? "source_reuse"
      : now_writes   ? "destination_overwrite"
                     : kinds::missing_wait,
      "let the thread that issued the copy wait for it (cp.async.wait_group, "
      "__pipeline_wait_prior, consumer_wait) and the others for that thread (__syncthreads), or "
      "all of them for the mbarrier that stands for it"};
}
// Copies in the background, which take their time.
Classified classify_async(bool async_before, bool before_writes, bool now_writes) {
  if (async_before && before_writes && !now_writes) {
    return {kinds::missing_wait,
            "wait for the copy before its bytes are read: for the phase of its mbarrier, or by "
            "cp.async.bulk.wait_group in the thread that issued it"};
  }
  if (async_before && !before_writes) {
    return {kinds::source_reuse,
            "wait until the copy has read its source: cp.async.bulk.wait_group.read in the thread "
            "that issued it, or the phase of its mbarrier"};
  }
  return {kinds::destination_overwrite,
          "let whoever uses the copy's destination say that it is done before the copy is issued "
          "(__syncthreads, or another mbarrier), and wait for the copy before anything else is "
          "written there"};
}
// The source of a copy that is issued now was written by somebody who is not ordered before it.
bool is_plain_source(bool async_before, bool now_writes) { return !async_before && !now_writes; }

Classified classify(const Op& before, bool before_writes, const Op& now, bool now_writes,
                    Space space) {
  const bool put_before = before.kind == OpKind::Channel;
  const bool put_now = now.kind == OpKind::Channel;
  if (put_before && put_now && before_writes && now_writes) {
    return {kinds::overlapping_puts,
            "give each put its own bytes, or order them: wait for the first one's signal before "
            "the second is issued"};
  }
  if (put_now && now_writes) {
    return {
        kinds::destination_overwrite,
        "if the receiver is meant to use what this put brings, let it wait for the put's signal "
        "first; if not, let it say that it is done (a barrier or signal) before the put is "
        "issued"};
  }
  if (put_before && before_writes) {
    if (!now_writes) {
      return {kinds::missing_wait,
              "wait with acquire for the signal that covers the put (a weak signal covers its own "
              "put only), or for a barrier with a Put fence"};
    }
    return {kinds::destination_overwrite,
            "wait for the put to arrive before its destination is written again"};
  }
  if (put_before) {
    return {kinds::source_reuse, "flush the put's context before the source is written again"};
  }
  if (space == Space::Shared) {
    return {kinds::shared_memory_race,
            "put __syncthreads() between the two accesses, or cluster.sync() where they are of two "
            "blocks of a cluster"};
  }
  if (is_mpi(before) && is_mpi(now) && is_one_sided(before.name) && is_one_sided(now.name)) {
    return {kinds::data_race,
            "MPI orders no two one-sided calls of an epoch: part them by a synchronization, or "
            "let both be MPI_Accumulate"};
  }
  // What was queued before the call could have come first as well, and is told alike.
  const bool queued_before = now.kind != OpKind::Host && now.issued < before.issued;
  if (is_mpi(before) && !queued_before) {
    return {kinds::mpi_buffer_in_use,
            is_one_sided(before.name)
                ? "first synchronize: the origin by MPI_Win_fence, MPI_Win_unlock or "
                  "MPI_Win_flush, the target by MPI_Win_fence, MPI_Win_wait or what it hears "
                  "from the origin afterwards"
                : "first complete the request, by MPI_Wait or a successful MPI_Test"};
  }
  if (is_mpi(before) || is_mpi(now)) {
    const bool mpi_writes = is_mpi(now) ? now_writes : before_writes;
    return {mpi_writes ? kinds::data_race : kinds::readback_before_sync,
            "synchronize the stream before MPI gets its memory"};
  }
  if ((now.kind == OpKind::Host && !now_writes) ||
      (before.kind == OpKind::Host && !before_writes)) {
    return {kinds::readback_before_sync,
            "synchronize the stream before the host reads what it copies or computes"};
  }
  if (before.kind == OpKind::Host || now.kind == OpKind::Host) {
    return {kinds::data_race, "synchronize the stream before the host touches this memory again"};
  }
  if (before.kind != OpKind::Kernel || now.kind != OpKind::Kernel || &before != &now) {
    if (now.overlaps && before.kind == OpKind::Kernel && before.rank == now.rank) {
      return {kinds::data_race,
              "the kernel was launched to overlap with the one ahead of it: call "
              "cudaGridDependencySynchronize() before it touches what that one does"};
    }
    if (before.rank == now.rank) {
      return {kinds::data_race, "order the two streams: an event, or one stream for both"};
    }
    return {kinds::data_race,
            "order the ranks: a barrier with release and acquire between the two accesses"};
  }
  return {kinds::data_race, "order the two threads: a barrier, or release and acquire on a flag"};
}

// Puts have numbers there.
bool is_async_record(const Op& op, uint32_t block) {
  return op.kind == OpKind::Kernel && is_async(block);
}

// A race between two places is told once; it often recurs at every element.
bool first_time(const Record& record, const Actor& actor, bool harmless) {
  static std::unordered_set<uint64_t> races, harmless_races;
  auto& known = harmless ? harmless_races : races;
  const auto place = [](uint32_t pc, OpId op) {
    return op_of(op).kind == OpKind::Kernel || op_of(op).kind == OpKind::Host ? pc : op;
  };
  return known.insert(uint64_t{place(record.pc(), record.op())} << 32 | place(actor.pc, actor.op))
      .second;
}

// Did the reader wait, and was the wait met by other signals than the put's? Then that is what is
// wrong, and the race comes of it. False: it has been told already.
bool blame_wait(FindingInfo& info, const Record& record, const Actor& actor, bool before_writes,
                bool now_writes) {
  const Op& before = op_of(record.op());
  const Op& now = op_of(actor.op);
  const bool put_before = before.kind == OpKind::Channel && before_writes && !now_writes;
  const bool put_now = now.kind == OpKind::Channel && now_writes && !before_writes;
  if (put_before == put_now || (put_now && before.kind == OpKind::Channel)) return true;
  const Op& reader = put_before ? now : before;
  EarlyRead read{.rank = reader.rank, .sender = (put_before ? before : now).rank};
  if (put_before) {
    read.op = actor.op;
    read.block = actor.block;
    read.clock = actor.clock;
  } else {
    read.op = record.op();
    read.block = record.block();
    read.time = record.time();
    if (g_current) read.put_by = current_actor(actor.pc).op;
  }
  const EarlyCause cause = explain_early(read);
  if (!cause.found) return true;
  info.cause = cause.where;
  info.message += "; it comes of the wait that was over early";
  if (reader.kind == OpKind::Kernel) info.message += format(" (launch %u)", reader.launch);
  info.hint = "mend the wait first: this read follows it";
  return cause.first;
}

}  // namespace

void report_race(const Record& record, bool before_writes, const Actor& actor, bool now_writes,
                 const void* p, const RaceView& view) {
  if (!first_time(record, actor, view.harmless)) return;
  const Op& before = op_of(record.op());
  const Op& now = op_of(actor.op);
  const bool async_before = is_async_record(before, record.block());
  const bool async = async_before || is_async_record(now, entered_block(actor));
  const bool thread_copy_before = async_before && is_thread_copy(record.block());
  const bool plain = is_plain_source(async_before, now_writes) ||
                     (!async_before && is_thread_copy(entered_block(actor)));
  const auto [kind, hint] = thread_copy_before ? classify_thread_copy(before_writes, now_writes)
                            : async && !plain
                                ? classify_async(async_before, before_writes, now_writes)
                                : classify(before, before_writes, now, now_writes, space_of(p));
  FindingInfo info{.kind = kind, .message = "", .hint = hint, .where = view.where};
  if (now.kind == OpKind::Kernel) info.launched = now.frames;
  if (view.kernel) {
    info.rank = view.rank;
    info.kernel = view.kernel;
  }
  if (now.kind == OpKind::Host) {
    info.rank = now.rank;
    info.host = true;
  }
  info.warning = view.harmless;
  if (info.warning) {
    info.hint =
        "both store the same value, which works on today's devices; let one thread store, or use "
        "an atomic";
  }
  if (view.atomic) {
    info.kind = view.divided ? kinds::data_race : kinds::scope_too_narrow;
    info.hint = view.divided ? "let atomics of the same memory have the same address and size"
                             : "widen the scope of the atomics: device scope (no suffix) between "
                               "blocks, system scope (_system) between devices and with the host";
  }
  const GpuThread* thread = current_thread();
  const bool host_runs = !thread && now.kind == OpKind::Host;
  if (view.atomic) {
    // It is clear already.
  } else if (thread ? thread->block->saw_narrow_scope
                    : host_runs && current_host().saw_narrow_scope) {
    info.kind = kinds::scope_too_narrow;
    info.hint =
        "widen the scope of the fence or atomic: device scope between blocks, system scope "
        "between devices";
  }
  info.message = format("%s by %s is not ordered after the %s by %s", now_writes ? "write" : "read",
                        describe(now, entered_block(actor), actor.thread).c_str(),
                        before_writes ? "write" : "read",
                        describe(before, record.block(), record.thread()).c_str());
  if (!blame_wait(info, record, actor, before_writes, now_writes)) return;
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
    std::swap(info.launched, info.other_launched);
    report_finding(std::move(info));
    return;
  }
  if (before.kind == OpKind::Kernel || before.kind == OpKind::Host) {
    info.other.pc[0] = record.pc();
    if (before.kind == OpKind::Kernel) info.other_launched = before.frames;
  } else {
    info.other = before.frames;
  }
  info.other_rank = before.rank;
  report_finding(std::move(info));
}

}  // namespace warploom
