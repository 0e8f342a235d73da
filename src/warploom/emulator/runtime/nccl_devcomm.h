// Device communicators: their resources, signals, counters and barriers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lanes.h"
#include "nccl_objects.h"

namespace warploom::nccl {

struct Channel;

// The puts that the arrival of a signal has settled.
struct Settled {
  LanePlace put;
  bool strong;  // and all puts of the lane before it
};

// A number that peers add to, and the order that the additions carry.
struct Signal {
  uint64_t own = 0;
  uint64_t* word = &own;         // in a window for a signal by address
  Clock clock;                   // of all arrivals since the last reset
  std::vector<Settled> settled;  // of arrivals, not yet entered into the clock
  WaitQueue waiters;
  // Rules: increments and additions are not mixed, and a reset meets no signal on its way.
  enum class Mode : uint8_t { Fresh, Increments, Additions } mode = Mode::Fresh;
  Frames mode_set;
  std::map<ChannelId, uint32_t> issued;  // last signal of each lane since the reset
  Frames last_issued;
  bool was_reset = false;
  Actor reset;
  Frames reset_where;
  uint64_t value() const { return *word; }
  const Clock& order();  // the clock, with everything entered
};

struct Counter {
  uint64_t value = 0;
  Clock clock;
  WaitQueue waiters;
};

struct BarrierDefinition {
  Team team{0, 0, 1};
  int count = 0;
  const char* requirement = "";  // the field that asked for it
  std::string name;
};

// One barrier among the members of one team.
struct BarrierSlot {
  struct Arrival {
    Clock clock;
    Clock before;  // what was done when the kernel began, which no order has to publish
    // Puts by member and context: how many had been issued, and those that were so before it.
    struct Puts {
      uint32_t turn = 0;
      std::vector<LanePlace> before{};
    };
    std::map<std::pair<int, uint32_t>, Puts> puts;
  };
  struct Member {
    uint64_t arrived = 0, waited = 0;
    std::deque<Arrival> arrivals;  // of rounds that somebody may still wait for
    uint64_t dropped = 0;
    bool used = false;
    Actor user;  // the group that used it last
    Frames where;
  };
  int ranks = 0;
  std::vector<Member> members;
  std::deque<int> present;  // members that have arrived, by round
  uint64_t ended = 0;       // rounds before those
  uint64_t joined_round = 0;
  Clock joined, joined_before;  // of all arrivals of that round
  WaitQueue waiters;
};
using BarrierKey = std::tuple<bool, uint32_t, int, int, int, uint32_t, uint32_t>;

struct DevCommSet {
  Clique* clique = nullptr;
  bool gin = false;
  Connection connection = Connection::None;
  int stride = 1;
  int contexts = 0, signals = 0, counters = 0;
  bool strong_legacy = true, strong_signals = true, va_signals = true;
  std::vector<std::pair<uint32_t, uint32_t>> signal_ranges;  // that the program may use
  std::vector<DevComm*> members;
  std::map<std::pair<bool, uint32_t>, BarrierDefinition> definitions;  // by GIN and handle
  std::map<BarrierKey, BarrierSlot> barriers;
  std::map<std::tuple<int, int, uint32_t, bool>, std::unique_ptr<Channel>> channels;
  std::map<uint64_t*, std::unique_ptr<Signal>> by_address;
};

struct DevComm {
  DevCommSet* set = nullptr;
  ncclComm* comm = nullptr;
  int rank = 0;
  bool live = true;
  Frames created, destroyed;
  ncclWindow_t resources = nullptr;
  uint64_t* shadows = nullptr;
  std::vector<Channel*> sending;                              // puts and gets that this rank issues
  std::size_t in_flight = 0;                                  // of them
  std::vector<std::unordered_map<uint32_t, Signal>> signals;  // by context; made when first used
  std::vector<std::map<uint32_t, Counter>> counters;          // by context
};

inline bool owns_signal(const DevCommSet& set, uint32_t index) {
  for (const auto& [first, end] : set.signal_ranges) {
    if (index >= first && index < end) return true;
  }
  return false;
}

// The device communicator behind a device-side handle; ends the run if it is not alive.
DevComm& alive(void* state, const char* what);
DevComm& require_gin(const Gin& gin, const char* what);
const std::vector<DevComm*>& all_devcomms();

}  // namespace warploom::nccl
