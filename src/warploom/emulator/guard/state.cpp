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
  // A store that would hit this has a hook, which ends the run.
  const Value link = registers[kRbp];
  // Of an address relative to something else nobody knows whether it is the same place.
  std::erase_if(slots, [&](const Slot& slot) {
    if (slot.address == link) return false;
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

void State::forget_slots() {
  const Value frame = registers[kRbp];
  std::erase_if(slots, [&](const Slot& slot) { return slot.address != frame; });
}

namespace {

using Paths = std::vector<const State*>;

// Do two registers differ by the same sum on all paths?
bool in_step(const Paths& paths, Values& values, int8_t one, int8_t other, Value& sum) {
  for (std::size_t at = 0; at < paths.size(); at++) {
    const Value mine = paths[at]->registers[one], theirs = paths[at]->registers[other];
    const Value rest = mine.form == theirs.form ? Values::constant(mine.plus(-theirs.offset).offset)
                                                : values.sum(mine, theirs, -1);
    if (at == 0) sum = rest;
    if (rest != sum) return false;
  }
  return true;
}

// Expresses `reg` by one of `bases`, if it can be.
bool follow(State& state, const Paths& paths, Values& values, int8_t reg,
            const std::vector<int8_t>& bases, int32_t block) {
  for (const int8_t base : bases) {
    Value sum;
    if (!in_step(paths, values, reg, base, sum)) continue;
    state.registers[reg] = values.sum(sum, values.unknown(Unknown::Meeting, block, base));
    return true;
  }
  return false;
}

void meet_registers(State& state, const Paths& paths, Values& values, int32_t block, bool simple) {
  std::vector<int8_t> bases;
  for (int8_t reg = 0; reg < kGeneral; reg++) {
    const bool equal = std::all_of(paths.begin(), paths.end(), [&](const State* path) {
      return path->registers[reg] == state.registers[reg];
    });
    if (equal) continue;
    if (!simple && reg != kRsp && follow(state, paths, values, reg, bases, block)) continue;
    state.registers[reg] = values.unknown(Unknown::Meeting, block, reg);
    bases.push_back(reg);
  }
}

}  // namespace

State meeting(const Paths& paths, Values& values, int32_t block, bool simple) {
  State state = *paths[0];
  if (paths.size() == 1) return state;
  meet_registers(state, paths, values, block, simple);
  for (std::size_t at = 1; at < paths.size(); at++) {
    const auto keep = [](auto& mine, const auto& theirs) {
      std::erase_if(mine, [&](const auto& item) {
        return std::find(theirs.begin(), theirs.end(), item) == theirs.end();
      });
    };
    keep(state.slots, paths[at]->slots);
    keep(state.facts, paths[at]->facts);
    state.frame_low = std::max(state.frame_low, paths[at]->frame_low);
  }
  return state;
}

bool same(const State& one, const State& other) {
  return one.reached == other.reached && one.registers == other.registers &&
         one.slots == other.slots && one.facts == other.facts && one.frame_low == other.frame_low;
}

}  // namespace guard
