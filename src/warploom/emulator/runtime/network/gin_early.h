// Which signals met which waits: what explains a read that comes before its put.
//
// A wait is over early where earlier signals meet its threshold: a warm-up's that nobody took into
// account, say, or those of other ranks. It returns at once, and what is read then has not arrived.
// The read is found by its race; these notes say which wait should have held it back.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../../include/warploom/nccl_runtime.h"
#include "order/completions.h"
#include "order/race.h"

namespace warploom::nccl {

// Signals that one launch (or host thread) sent from one place.
struct Raised {
  int rank = 0;
  OpId by = 0;
  Frames where;
  uint64_t arrived = 0;  // what they have added
};

// A wait that is over, with what had arrived.
struct WaitOver {
  SignalName name;
  uint32_t context = 0;
  uint64_t least = 0, value = 0;
  Frames where;
  Moment moment;
  std::vector<Raised> raised;
  bool asked_before = false;  // an earlier wait had asked for as many
  uint64_t number = 0;        // of all waits
};

// The notes of one signal; in runs with the race check.
class SignalNotes {
 public:
  explicit SignalNotes(int rank);
  ~SignalNotes();
  SignalNotes(const SignalNotes&) = delete;
  SignalNotes& operator=(const SignalNotes&) = delete;

  uint32_t sent(int rank, OpId by, const Frames& where);  // names it for `arrived`
  void arrived(uint32_t sent, uint64_t amount);
  void waited(WaitOver wait, int bits);
  void reset();

  int rank() const { return rank_; }
  const std::deque<Raised>& raised() const { return raised_; }
  const std::vector<WaitOver>& waits() const { return waits_; }

 private:
  bool asked_before(const WaitOver& wait, int bits) const;

  int rank_;
  std::deque<Raised> raised_;  // the last ones
  uint32_t dropped_ = 0;       // those before
  std::vector<WaitOver> waits_;
  // The most that waits asked for: of the launch that waited last, and of those before it.
  OpId last_ = 0;
  bool any_last_ = false, any_earlier_ = false;
  uint64_t last_most_ = 0, earlier_most_ = 0;
};

}  // namespace warploom::nccl
