#include "state.h"

#include <algorithm>

namespace guard {

const Slot* State::slot(Value address) const {
  for (const Slot& slot : slots) {
    if (slot.address == address) return &slot;
  }
  return nullptr;
}

void State::overwrite(Value address, unsigned width) {
  // Of an address relative to something else nobody knows whether it is the same place.
  std::erase_if(slots, [&](const Slot& slot) {
    if (slot.address.form != address.form) return true;
    const int64_t distance = slot.address.offset - address.offset;
    return distance < static_cast<int64_t>(width) && -distance < slot.width;
  });
}

bool State::checked(Value address, unsigned width, bool write) const {
  int64_t at = address.offset;
  const int64_t end = at + static_cast<int64_t>(width);
  // Several facts may cover it piece by piece.
  for (bool more = true; more && at < end;) {
    more = false;
    for (const Fact& fact : facts) {
      if (fact.form == address.form && (fact.write || !write) && fact.low <= at && at < fact.high) {
        at = fact.high;
        more = true;
      }
    }
  }
  return at >= end;
}

void State::check(Value address, int64_t width, bool write) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (width <= 0 || width > kMost || address.offset > kMost || address.offset < -kMost) return;
  const Fact fact{address.form, address.offset, address.offset + width, write};
  if (std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
}

void State::forget_slots(int64_t lowest) {
  const Value frame = registers[kRbp];
  std::erase_if(slots, [&](const Slot& slot) {
    return slot.address.form != frame.form ||
           slot.address.offset - frame.offset + slot.width > lowest;
  });
}

bool meet(State& into, const State& other, Values& values, int32_t block) {
  if (!other.reached) return false;
  if (!into.reached) {
    into = other;
    return true;
  }
  bool changed = false;
  for (int8_t reg = 0; reg < kGeneral; reg++) {
    Value& mine = into.registers[reg];
    if (mine == other.registers[reg]) continue;
    const Value here = values.unknown(Unknown::Meeting, block, reg);
    if (mine == here) continue;
    mine = here;
    changed = true;
  }
  const auto gone = [](auto& mine, const auto& theirs) {
    return std::erase_if(mine, [&](const auto& item) {
             return std::find(theirs.begin(), theirs.end(), item) == theirs.end();
           }) > 0;
  };
  changed = gone(into.slots, other.slots) || changed;
  changed = gone(into.facts, other.facts) || changed;
  if (other.frame_low > into.frame_low) {
    into.frame_low = other.frame_low;
    changed = true;
  }
  return changed;
}

}  // namespace guard
