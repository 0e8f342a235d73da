// Sorts of a block by the bits of keys.
#pragma once

#include <warploom/libraries/cub_block.h>
#include <warploom/libraries/cub_exchange.h>

#include <cstdint>

namespace warploom::libraries {

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};
template <class Key>
using KeyBits = typename UnsignedOf<sizeof(Key)>::Type;

// A number whose bits are in the order of keys. Zeros with a sign equal those without, as CUB has
// it.
template <class Key>
KeyBits<Key> ordered_bits(Key key, bool descending) {
  using Bits = KeyBits<Key>;
  constexpr Bits top = static_cast<Bits>(Bits{1} << (8 * sizeof(Key) - 1));
  auto bits = __builtin_bit_cast(Bits, key);
  if constexpr (std::is_integral_v<Key>) {
    if (std::is_signed_v<Key>) bits = static_cast<Bits>(bits ^ top);
  } else {
    if (bits == top) bits = 0;
    bits = static_cast<Bits>(bits & top ? ~bits : bits | top);
  }
  return descending ? static_cast<Bits>(~bits) : bits;
}

}  // namespace warploom::libraries

namespace cub {

template <class Key, int dim_x, int items, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int dim_y = 1, int dim_z = 1,
          int = 0>
class BlockRadixSort {
  static constexpr int kThreads = dim_x * dim_y * dim_z;
  static constexpr bool kPairs = !std::is_same_v<Value, NullType>;
  using Scan = BlockScan<int, dim_x, BLOCK_SCAN_WARP_SCANS, dim_y, dim_z>;
  using Keys = BlockExchange<Key, dim_x, items, false, dim_y, dim_z>;
  using Values = BlockExchange<Value, dim_x, items, false, dim_y, dim_z>;

 public:
  struct TempStorage {
    typename Scan::TempStorage scan;
    typename Keys::TempStorage keys;
    typename Values::TempStorage values;
  };
  BlockRadixSort() : storage_(own()) {}
  explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

#define WARPLOOM_BLOCK_SORT(name, descending, striped)                                    \
  void name(Key(&keys)[items], int begin = 0, int end = 8 * sizeof(Key)) {                \
    sort(keys, static_cast<Value(*)[items]>(nullptr), begin, end, descending, striped);   \
  }                                                                                       \
  template <class Payload>                                                                \
  void name(Key(&keys)[items], Payload(&values)[items], int begin = 0,                    \
            int end = 8 * sizeof(Key)) {                                                  \
    static_assert(std::is_same_v<Payload, Value>, "the sort has values of another type"); \
    sort(keys, &values, begin, end, descending, striped);                                 \
  }
  WARPLOOM_BLOCK_SORT(Sort, false, false)
  WARPLOOM_BLOCK_SORT(SortDescending, true, false)
  WARPLOOM_BLOCK_SORT(SortBlockedToStriped, false, true)
  WARPLOOM_BLOCK_SORT(SortDescendingBlockedToStriped, true, true)
#undef WARPLOOM_BLOCK_SORT

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockRadixSort");
  }
  // Bit by bit: those without it before those with it, in the order that they had.
  void sort(Key (&keys)[items], Value (*values)[items], int begin, int end, bool descending,
            bool striped) {
    for (int bit = begin; bit < end; bit++) {
      int clear = 0, ranks[items];
      for (int i = 0; i < items; i++) clear += !is_set(keys[i], bit, descending);
      int before = 0, all = 0;
      Scan(storage_.scan).ExclusiveSum(clear, before, all);
      for (int i = 0; i < items; i++) {
        const int at = Keys::blocked(i);
        ranks[i] = is_set(keys[i], bit, descending) ? all + at - before : before++;
      }
      warploom::count_operations(6 * items);
      Keys(storage_.keys).ScatterToBlocked(keys, keys, ranks);
      if constexpr (kPairs) {
        if (values) Values(storage_.values).ScatterToBlocked(*values, *values, ranks);
      }
      warploom::block_barrier(__LINE__);
    }
    if (!striped) return;
    Keys(storage_.keys).BlockedToStriped(keys);
    if constexpr (kPairs) {
      if (values) Values(storage_.values).BlockedToStriped(*values);
    }
    warploom::block_barrier(__LINE__);
  }
  static bool is_set(const Key& key, int bit, bool descending) {
    return warploom::libraries::ordered_bits(key, descending) >> bit & 1;
  }
  TempStorage& storage_;
};

}  // namespace cub
