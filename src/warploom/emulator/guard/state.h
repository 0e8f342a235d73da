// What is known where a program stands: registers, its own stack, and which addresses were checked.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "operand.h"
#include "values.h"

namespace guard {

// What a slot of the stack holds.
struct Slot {
  Value address;
  uint8_t width = 0;
  Value value;
  bool operator==(const Slot&) const = default;
};

// A hook has checked the bytes from `low` to `high`, relative to the sum `form`.
struct Fact {
  int32_t form = 0;
  int64_t low = 0, high = 0;
  bool write = false;  // a check of a write is one of a read, too
  bool operator==(const Fact&) const = default;
};

struct State {
  bool reached = false;
  std::array<Value, kGeneral> registers{};
  std::vector<Slot> slots;
  std::vector<Fact> facts;
  // The frame reaches down to here at least, relative to the stack pointer at the function's entry.
  int64_t frame_low = 0;

  const Slot* slot(Value address) const;
  // A store of `width` bytes at `address`, which is known to lie in the program's own stack.
  void overwrite(Value address, unsigned width);
  bool checked(Value address, unsigned width, bool write) const;
  void check(Value address, int64_t width, bool write);
  // Something was stored that may have hit any slot: a pointer of the program reaches all of its
  // stack, also what the compiler keeps there for itself. The runtime keeps it from one place
  // alone, where the caller's frame pointer lies (check_stack_store).
  void forget_slots();
};

// What is known where paths meet, of which there is at least one; `block` names the unknowns where
// they differ. Registers that stay in step, one the other and the same sum, stay so unless
// `simple`.
State meeting(const std::vector<const State*>& paths, Values& values, int32_t block, bool simple);

bool same(const State& one, const State& other);

}  // namespace guard
