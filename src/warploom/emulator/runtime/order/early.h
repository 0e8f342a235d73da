// Why a read came before its put: the wait that should have held it back (gin_early.h).
#pragma once

#include <cstdint>

#include "order/race.h"

namespace warploom {

// Memory of `rank` is read by `op` (of a kernel: by `block`, at `time`), before what a put of
// `sender` brings. `clock` is what the reader knew, or null; `put_by` issues the put now, or is 0.
struct EarlyRead {
  int rank = 0, sender = 0;
  OpId op = 0;
  uint32_t block = 0, time = 0;
  const Clock* clock = nullptr;
  OpId put_by = 0;
};
struct EarlyCause {
  Frames where;        // of the wait
  bool found = false;  // there is such a wait, and it has been reported
  bool first = false;  // of what comes of it
};
EarlyCause explain_early(const EarlyRead& read);

}  // namespace warploom
