// Who touched a window's ordinary memory last, byte by byte: one-sided calls, and the rank's own
// code. (Memory of devices has a history of its own, see race.h.)
//
// A call has its bytes from its start until whoever touches them has heard that it is complete.
// That somebody else has completed it in time, and nobody has said so, counts for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/mpi_touches.h"
#include "mpi/mpi_windows.h"
#include "order/host_copies.h"

namespace warploom::mpi {

// One access: by a call, or by the rank's own code.
struct Touch {
  std::shared_ptr<RmaCall> call;
  OpId op = 0;  // of the rank's own code
  uint32_t pc = 0;
  bool operator==(const Touch&) const = default;
};

class WindowHistory {
 public:
  WindowHistory(Window& window, int rank);
  ~WindowHistory();
  WindowHistory(const WindowHistory&) = delete;
  WindowHistory& operator=(const WindowHistory&) = delete;

  // The call has its bytes from now on; its clock says what is ordered before it.
  void begin(const std::shared_ptr<RmaCall>& call);
  // A call that only reads, with a lock, is done: who polls so takes the order over from the code
  // that has stored what it reads.
  void learn(RmaCall& call) const;
  // The running host thread touches memory, some of which may be the window's.
  void touched(const HostTouch& touch);
  HostRange range() const;

 private:
  void check_host(const Touch& before, const HostTouch& touch);
  void see(RmaCall& call);
  bool has_open(OpId now);
  const Process& owner() const;
  Window& window_;
  int rank_;
  Touches<Touch> stores_, loads_;      // of the rank's own code; offsets from the window's start
  Touches<Touch> puts_, gets_, sums_;  // of calls; what accumulates and changes nothing is a get
  // Calls that the rank's code need not have heard to be over, and its operation that saw so.
  std::vector<std::shared_ptr<RmaCall>> open_;
  OpId seen_in_ = 0;
};

}  // namespace warploom::mpi
