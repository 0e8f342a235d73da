// The network: puts and signals on their way, moved as early or late as the timing says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "network/devcomm.h"
#include "network/lanes.h"
#include "schedule/scheduler.h"

namespace warploom::nccl {

// Checks that a window can be used by the call `what`; ends the run if not.
void check_window(ncclWindow_t window, const char* what);
char* member_pointer(ncclWindow_t window, int rank, std::size_t offset);
// A window that is about to go must have no transfer on its way.
void check_quiet(ncclWindow_t window, const Frames& where);
// And what a device communicator sent must have left before it goes.
void check_flushed(const DevComm& dc);

// One put, get or signal.
struct Transfer {
  Channel* channel = nullptr;
  uint32_t sequence = 0;  // of the flow
  LanePlace place;
  std::vector<LanePlace> before;  // that its strong signal covers too
  const char* name = "";
  Frames where;
  const char* source = nullptr;
  char* destination = nullptr;
  std::size_t bytes = 0;
  std::vector<char> staged;  // the source, once it was read
  bool read = false, landed = false;
  bool flushed = false;      // whoever issued it knows that the source was read
  Signal* signal = nullptr;  // still to arrive
  uint32_t sent = 0;         // its name in the signal's notes
  bool strong = false;
  uint64_t amount = 0;
  Clock signal_clock;
  Counter* counter = nullptr;  // still to be incremented
  Clock counter_clock;
  ncclWindow_t source_window = nullptr, destination_window = nullptr;
  bool told() const { return signal || counter; }  // somebody will be told of it
  bool finished() const { return landed && !signal && !counter; }
};

// The flow from one rank to one peer on one context. Gets have a flow of their own.
struct Channel {
  DevCommSet* set = nullptr;
  int source = 0, peer = 0;
  uint32_t context = 0;
  bool get = false;
  uint32_t issued = 0;
  uint32_t fenced = 0;  // of them, those that the fence of a barrier settles
  // Modelled times: when all that was issued has left its source, and landed.
  double settled_by = 0, landed_by = 0;
  ShortVector<std::shared_ptr<Transfer>> pending;
  Lanes lanes;
  // Signals of the peer that puts raised last, by number.
  struct Raised {
    uint32_t number = 0;
    Signal* signal = nullptr;
  } raised[2];
  OpId operation_at(ChannelId lane, const Frames& where, const char* name);

 private:
  struct Operation {
    ChannelId lane;
    uint32_t pc;
    OpId op;
  };
  ShortVector<Operation> operations_;  // one for each lane and place that issues
};

Channel& channel(DevComm& dc, int peer, uint32_t context, bool get);
Channel* find_channel(const DevComm& dc, int peer, uint32_t context, bool get);  // if it was used
void send(std::shared_ptr<Transfer> transfer);

// Forces what a rule demands, at once.
void read_sources(Channel& channel, uint32_t upto);
void land(Channel& channel, uint32_t upto);
void note_flushed(Channel& channel, LanePlace upto);
void deliver_from(DevComm& dc);  // everything that one rank has sent

}  // namespace warploom::nccl
