// Which puts of a flow were issued before which others. Not their turn in one schedule counts, but
// what orders the threads that issue them: puts that nothing orders are in different lanes, and a
// strong signal or a barrier's Put fence covers what was issued before it, lane by lane.
#pragma once

#include <cstdint>
#include <vector>

#include "order/completions.h"

namespace warploom::nccl {

// The puts of a lane up to a number. A lane has the clock's times of a channel.
struct LanePlace {
  ChannelId lane = 0;
  uint32_t number = 0;
};

class Lanes {
 public:
  // Enters the `sequence`-th put of the flow; `now` is what is ordered before the issuer's next.
  LanePlace add(const Actor& issuer, const Clock& now, uint32_t sequence);
  // What was issued before `now`.
  std::vector<LanePlace> before(const Clock& now) const;
  // The first `sequence` puts of the flow, in the turn of this schedule.
  std::vector<LanePlace> upto(uint32_t sequence) const;
  // Who issued what need not be remembered where everybody knows of it: it is before all that
  // comes.
  void forget_issuers(const KnownToAll& times);

 private:
  struct Issue {
    Moment moment;
    uint32_t sequence;
  };
  // Each is issued before the next.
  struct Lane {
    ChannelId id;
    ShortVector<Issue> issues{};
    uint32_t forgotten = 0;       // issues before those
    uint32_t last_forgotten = 0;  // the sequence of the last of them
  };
  Lane& lane_for(const Moment& issuer, const Clock& now);
  ShortVector<Lane> lanes_;
};

}  // namespace warploom::nccl
