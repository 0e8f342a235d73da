// Work that a program queues between a call of NCCL and the end of the call's group: it is on the
// stream ahead of the call, which is put there by ncclGroupEnd ("Group Calls" in NCCL's user
// guide).
#include "memory/memory.h"
#include "nccl/nccl_collectives.h"
#include "order/history.h"

namespace warploom::nccl {

namespace {

// The last operation of those issued in between that is entered in `plane` at `word`.
const Op* between(const Plane& plane, std::size_t cell, const Task& task, uint64_t end) {
  const OpId id = plane.at(cell).op();
  if (!id) return nullptr;
  const Op& op = op_of(id);
  if (op.kind != OpKind::Kernel && op.kind != OpKind::Copy) return nullptr;
  const bool here = op.agent == task.stream->agent;
  return here && op.issued > task.called && op.issued < end ? &op : nullptr;
}

const Op* find_ahead(const Task& task, const void* p, std::size_t bytes, bool received,
                     uint64_t end) {
  const auto start = bytes && in_arena(p) ? reinterpret_cast<uintptr_t>(p) : uintptr_t{0};
  if (!start) return nullptr;
  for (uintptr_t word = start & ~uintptr_t{3}; word < start + bytes; word += 4) {
    const Granule& granule = granule_of(word);
    const std::size_t cell = word % kGranule / 4;
    if (const Op* op = between(granule.write, cell, task, end)) return op;
    if (!received) continue;
    for (const Plane& reads : granule.reads) {
      if (const Op* op = between(reads, cell, task, end)) return op;
    }
  }
  return nullptr;
}

}  // namespace

void check_ahead_in_group(const Task& task, const StreamOp& op) {
  if (!g_config.race || !task.called || task.stream->last_queued < task.called) return;
  const bool in_place = task.send == task.recv;
  const Op* ahead = find_ahead(task, task.recv, task.recv_bytes(), true, op.sequence);
  const bool received = ahead != nullptr;
  if (!ahead && !in_place) {
    ahead = find_ahead(task, task.send, task.send_bytes(), false, op.sequence);
  }
  if (!ahead) return;
  report_finding(
      {.kind = kinds::group_unclosed,
       .message = format("%s is queued behind %s and runs ahead of it: the call is on "
                         "the stream only at ncclGroupEnd, and its %s buffer is used "
                         "before",
                         ahead->name, call_name(task.call), received ? "receive" : "send"),
       .hint = "close the group first, and queue what uses the buffers behind it",
       .where = ahead->frames,
       .other = task.where,
       .rank = ahead->rank});
}

}  // namespace warploom::nccl
