// What an instruction computes, in the slots of a multiprocessor's lanes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "code.h"

namespace guard {

constexpr unsigned kHalves = 2;  // of a slot: what is counted

// Products and sums of floating-point numbers may come together in one instruction of a GPU, so
// they are kept apart until all of a block are known.
// About every second operation on integers finds a place in an array, which compilers for GPUs have
// in registers.
struct Work {
  unsigned slots = 0, sums = 0, products = 0, integers = 0;
  void operator+=(const Work& more) {
    slots += more.slots, sums += more.sums, products += more.products, integers += more.integers;
  }
  // In halves of slots: the least that a GPU does for it, or all.
  unsigned total(bool whole) const {
    return whole ? kHalves * (slots + sums + products + integers)
                 : kHalves * (slots + std::max(sums, products)) + integers;
  }
};

// Slots that a call of a function takes, by symbol.
class Prices {
 public:
  // `text` has a line "symbol slots" for each.
  explicit Prices(std::string text);
  unsigned of(std::string_view symbol) const;

 private:
  std::string text_;
  std::unordered_map<std::string_view, unsigned> slots_;
};

Work work_of(const Line& line, const Instruction& instruction, const Prices& prices);

}  // namespace guard
