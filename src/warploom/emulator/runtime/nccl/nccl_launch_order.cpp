// Collectives of several communicators: each waits on the GPU for its partners, so ranks that issue
// two of them in different orders wait for each other where one does not leave the other room. NCCL
// asks that all ranks launch them in one order ("Using multiple NCCL communicators concurrently" in
// its user guide).
#include <algorithm>

#include "nccl/nccl_collectives.h"
#include "nccl/nccl_group.h"

namespace warploom::nccl {

namespace {

// How many collectives of the thread's other communicators went ahead, by the clique of each.
IssuedBefore issued_before(const Task& task) {
  IssuedBefore before;
  for (const ncclComm* other : all_comms()) {
    if (other->device != task.comm->device || other == task.comm || other->destroyed) continue;
    if (other->last_issuer && other->last_issuer != task.issuer) continue;
    before.emplace(other->clique, other->collectives);
  }
  return before;
}

bool has_device(const Clique& clique, int device) {
  return std::ranges::any_of(
      clique.members, [&](const ncclComm* member) { return member && member->device == device; });
}

}  // namespace

void check_launch_order(const Task& task, CollectiveMeeting& meeting) {
  // The calls of a group have no order, and of threads nobody knows which one comes first.
  if (in_group() || !task.issuer) return;
  meeting.before.resize(meeting.members.size());
  IssuedBefore& mine = meeting.before[static_cast<std::size_t>(task.comm->rank)];
  mine = issued_before(task);
  if (mine.empty()) return;
  for (std::size_t rank = 0; rank < meeting.members.size(); rank++) {
    const Task* partner = meeting.members[rank];
    if (!partner || partner == &task) continue;
    for (const auto& [clique, count] : meeting.before[rank]) {
      const auto found = mine.find(clique);
      if (found == mine.end() || found->second == count) continue;
      if (!has_device(*clique, partner->comm->device)) continue;
      const bool later = found->second > count;
      report_finding(
          {.kind = kinds::collective_mismatch,
           .message = format("%s: rank %d calls it %s a collective of another communicator, and "
                             "rank %d %s it",
                             call_name(task.call), task.comm->rank, later ? "behind" : "before",
                             partner->comm->rank, later ? "before" : "behind"),
           .hint = "let all ranks issue the collectives of their communicators in the same order: "
                   "else they may wait for each other",
           .other = partner->where});
      return;
    }
  }
}

}  // namespace warploom::nccl
