#include "network/lanes.h"

#include <algorithm>

#include "machine/world.h"

namespace warploom::nccl {

namespace {

ChannelId g_lanes = 0;

template <class Issues, class Condition>
uint32_t count_while(const Issues& issues, Condition condition) {
  if (condition(issues.back())) return static_cast<uint32_t>(issues.size());
  const auto end = std::ranges::partition_point(issues, condition);
  return static_cast<uint32_t>(end - issues.begin());
}

}  // namespace

Lanes::Lane& Lanes::lane_for(const Moment& issuer, const Clock& now) {
  if (!g_config.race && !lanes_.empty()) return lanes_.front();
  // The lane of its own block first, so that blocks which nothing orders keep theirs.
  for (const bool own : {true, false}) {
    for (Lane& lane : lanes_) {
      const Moment& last = lane.issues.back().moment;
      const bool mine = last.op == issuer.op && last.block == issuer.block;
      if (mine == own && covers(now, last)) return lane;
    }
  }
  return lanes_.emplace_back(++g_lanes);
}

LanePlace Lanes::add(const Actor& issuer, const Clock& now, uint32_t sequence) {
  const Moment moment = moment_of(issuer);
  Lane& lane = lane_for(moment, now);
  lane.issues.push_back({moment, sequence});
  return {lane.id, lane.forgotten + static_cast<uint32_t>(lane.issues.size())};
}

std::vector<LanePlace> Lanes::before(const Clock& now) const {
  std::vector<LanePlace> places;
  for (const Lane& lane : lanes_) {
    const auto count = count_while(lane.issues, [&](const Issue& issue) {
      return !g_config.race || covers(now, issue.moment);
    });
    if (lane.forgotten + count) places.push_back({lane.id, lane.forgotten + count});
  }
  return places;
}

std::vector<LanePlace> Lanes::upto(uint32_t sequence) const {
  std::vector<LanePlace> places;
  for (const Lane& lane : lanes_) {
    if (sequence < lane.last_forgotten) continue;  // asked for long ago
    const auto count =
        count_while(lane.issues, [&](const Issue& issue) { return issue.sequence <= sequence; });
    if (lane.forgotten + count) places.push_back({lane.id, lane.forgotten + count});
  }
  return places;
}

void Lanes::forget_issuers(const KnownToAll& times) {
  for (Lane& lane : lanes_) {
    // The last one is who the next has to come after.
    const auto known = std::find_if(lane.issues.begin(), lane.issues.end() - 1,
                                    [&](const Issue& i) { return !covers(times, i.moment); });
    if (known == lane.issues.begin()) continue;
    lane.forgotten += static_cast<uint32_t>(known - lane.issues.begin());
    lane.last_forgotten = std::prev(known)->sequence;
    lane.issues.erase(lane.issues.begin(), known);
    if (lane.issues.capacity() > 64) lane.issues.shrink_to_fit();
  }
}

}  // namespace warploom::nccl
