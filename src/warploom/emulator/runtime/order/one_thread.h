// What host threads may use one at a time.
#pragma once

#include <optional>

#include "order/completions.h"
#include "report/report.h"

namespace warploom {

struct HostThread;

class OneThread {
 public:
  // Notes a use by the running host thread, at `where`. Returns the place of the last one where it
  // was another thread's, and nothing orders the two.
  std::optional<Frames> use(const Frames& where);

 private:
  const HostThread* thread_ = nullptr;
  Moment moment_;
  Frames where_{};
};

}  // namespace warploom
