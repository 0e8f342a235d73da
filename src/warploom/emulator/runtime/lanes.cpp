#include "lanes.h"

#include <algorithm>

#include "world.h"

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
  return {lane.id, static_cast<uint32_t>(lane.issues.size())};
}

std::vector<LanePlace> Lanes::before(const Clock& now) const {
  std::vector<LanePlace> places;
  for (const Lane& lane : lanes_) {
    const auto count = count_while(lane.issues, [&](const Issue& issue) {
      return !g_config.race || covers(now, issue.moment);
    });
    if (count) places.push_back({lane.id, count});
  }
  return places;
}

std::vector<LanePlace> Lanes::upto(uint32_t sequence) const {
  std::vector<LanePlace> places;
  for (const Lane& lane : lanes_) {
    const auto count =
        count_while(lane.issues, [&](const Issue& issue) { return issue.sequence <= sequence; });
    if (count) places.push_back({lane.id, count});
  }
  return places;
}

}  // namespace warploom::nccl
