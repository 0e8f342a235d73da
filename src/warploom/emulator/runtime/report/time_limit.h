// The time limit of a run.
#pragma once

namespace warploom {

// After so many seconds the run ends with a finding that says where it was. 0: never.
void start_time_limit(double seconds);
// What the report gets in such a scope it gets whole: the time limit ends the run behind it.
class WholeEntry {
 public:
  WholeEntry();
  ~WholeEntry();
  WholeEntry(const WholeEntry&) = delete;
  WholeEntry& operator=(const WholeEntry&) = delete;
};

}  // namespace warploom
