// Device communicators: their resources, signals, counters and barriers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl/nccl_objects.h"
#include "network/gin_early.h"
#include "network/lanes.h"

namespace warploom::nccl {

struct Channel;

// The puts that the arrival of a signal has settled.
struct Settled {
  LanePlace put;
  bool strong;  // and all puts of the lane before it
};

// The last of certain puts on each lane: notes cost no look at the others.
class LastOfLanes {
 public:
  void note(LanePlace place) {
    places_.push_back(place);
    if (places_.size() >= settle_at_) settle();
  }
  const std::vector<LanePlace>& all();  // by lane
  void clear();

 private:
  void settle();
  std::vector<LanePlace> places_;
  std::size_t settle_at_ = kFew;
  static constexpr std::size_t kFew = 16;
};

// A number that peers add to, and the order that the additions carry.
struct Signal {
  uint64_t own = 0;
  uint64_t* word = &own;         // in a window for a signal by address
  Clock clock;                   // of all arrivals since the last reset
  std::vector<Settled> settled;  // of arrivals, not yet entered into the clock
  WaitQueue waiters;
  LastOfLanes issued;  // since the reset
  // Rules: increments and additions are not mixed, and a reset meets no signal on its way.
  enum class Mode : uint8_t { Fresh, Increments, Additions } mode = Mode::Fresh;
  bool was_reset = false;
  Actor reset;
  Frames mode_set, last_issued, reset_where;
  std::unique_ptr<SignalNotes> notes;  // in runs with the race check, once it is used
  SignalNotes& notes_of(int rank) {
    if (!notes) notes = std::make_unique<SignalNotes>(rank);
    return *notes;
  }
  // What it had when memory began to be counted that is carried over (carried.h), if that is known.
  std::optional<uint64_t> carried;
  bool told = false, other = false;  // that was read since; it is told as something else
  uint64_t value() const { return *word; }
  const Clock& order();  // the clock, with everything entered
};

// Those of one rank and context by number, made when first used.
class Signals {
 public:
  Signal& at(uint32_t index) {
    if (index / kInPage >= pages_.size()) pages_.resize(index / kInPage + 1);
    auto& page = pages_[index / kInPage];
    if (!page) page = std::make_unique<Page>();
    auto& signal = (*page)[index % kInPage];
    if (!signal) signal = std::make_unique<Signal>();
    return *signal;
  }

 private:
  static constexpr uint32_t kInPage = 256;
  using Page = std::array<std::unique_ptr<Signal>, kInPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

struct Counter {
  uint64_t value = 0;
  Clock clock;
  WaitQueue waiters;
  LastOfLanes issued;  // puts with an increment, since the reset
  Frames last_issued{};
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
    Actor user;                    // the group that used it last
    const void* waiter = nullptr;  // the block whose wait has ended last
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
  std::vector<std::unique_ptr<Channel>> channels;
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
  std::vector<Channel*> sending;             // puts and gets that this rank issues
  std::vector<std::vector<Channel*>> lines;  // the same by 2 * context + is it for gets?, and peer
  std::vector<Signals> signals;              // by context
  std::vector<std::map<uint32_t, Counter>> counters;  // by context; made when first used
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
void add_devcomm(DevComm* made);
bool is_devcomm(const void* state);  // does a handle name one, alive or not?

}  // namespace warploom::nccl
