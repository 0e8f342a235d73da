#include "access/volatile_lanes.h"

#include "order/history.h"
#include "report/report.h"

namespace warploom {

namespace {

constexpr uint32_t kLanes = 32;

bool is_other_lanes(const Record& record, const Actor& actor) {
  return record.op() == actor.op && record.block() == actor.block &&
         record.thread() != actor.thread && record.thread() / kLanes == actor.thread / kLanes &&
         record.atomic() && record.atomicity().extent() == Extent::Any;
}

bool report_exchange(const Record& record, bool before_writes, const Actor& actor, bool writes) {
  if (!is_other_lanes(record, actor) || is_ordered(record, actor)) return false;
  FindingInfo info{
      .kind = kinds::shared_memory_race,
      .message = format("lanes %u and %u of one warp %s and %s the same volatile shared "
                        "memory, with no __syncwarp() in between",
                        record.thread() % kLanes, actor.thread % kLanes,
                        before_writes ? "write" : "read", writes ? "write" : "read"),
      .hint =
          "put __syncwarp() between the two accesses: lanes do not run in step, and "
          "volatile orders nothing between them"};
  info.suspicion = info.warning = true;
  info.other.pc[0] = record.pc();
  report_finding(std::move(info));
  return true;
}

}  // namespace

void note_lane_exchange(const Actor& actor, uintptr_t address, std::size_t bytes, bool write) {
  for (uintptr_t word = address & ~uintptr_t{3}; word < address + bytes; word += 4) {
    const Granule& granule = granule_of(word);
    const std::size_t cell = word % kGranule / 4;
    if (report_exchange(granule.write.at(cell), true, actor, write)) return;
    if (!write) continue;
    for (const Plane& reads : granule.reads) {
      if (report_exchange(reads.at(cell), false, actor, true)) return;
    }
  }
}

}  // namespace warploom
