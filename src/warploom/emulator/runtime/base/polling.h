// Loops that wait for memory to change must let others run, or nothing ever changes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace warploom {

// The running fiber reads the `bytes` at `address` in a way that a polling loop would; `changes`:
// by a read-modify-write, which waits for nobody where it changes them (see atomic_changed).
void note_poll(const void* address, unsigned bytes, bool changes = false);
// The host has found `what` unfinished, and may do without it.
void poll_unready(const void* what);
// The host is about to ask whether something is done. In eager schedules the others get as far as
// they can before, so that it is found done where it may be.
void let_finish(const std::function<bool()>& done);
// Whoever has found `what` unfinished is to find it so again, at once.
bool stays_unready(const void* what);
// Of something that is there, and may be on its way for longer as far as the host can know.
class Lateness {
 public:
  bool hides();  // the host asks, and is to find it unready
  void end();    // it has been found: what is left is others'
 private:
  std::optional<uint64_t> left_;  // so often
  double since_ = 0;
};
// The running fiber, which is about to access the address, has made many accesses: others may have
// their turn.
void spend_budget(const void* address);
// From now on each access spends its budget, or many do, as g_noting_places says.
void renew_budgets();

}  // namespace warploom
