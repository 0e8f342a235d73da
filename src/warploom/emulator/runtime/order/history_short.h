// Records of the single cells of one plane in a short form. Most planes know few operations,
// blocks, times and places: a cell then keeps its thread and the number of what it shares with
// others, 2 bytes in place of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "order/history.h"

namespace warploom {

class ShortCells {
 public:
  explicit ShortCells(uintptr_t where) : where_(where) {}
  static ShortCells make();  // no records
  uintptr_t where() const { return where_; }

  Record operator[](uint32_t cell) const { return short_record(where_, cell); }
  // False: they have too little in common, nothing was done. `where` may change.
  bool set(uint32_t cell, const Record& record);
  void free();

 private:
  static constexpr uintptr_t kMany = 1;
  bool many() const { return where_ & kMany; }
  unsigned slots() const { return many() ? 64 : 16; }
  uint16_t* forms() const { return short_forms(where_); }
  Record* shared() const { return short_shared(where_); }
  unsigned slot_of(const Record& common);
  bool forget_unused();
  void grow();
  uintptr_t where_;
};

}  // namespace warploom
