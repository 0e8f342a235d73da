
// ---- device: reductions ----------------------------------------------------------------------

// Rank p owns `slice` elements from p * slice on (the last ones fewer, `total` in all), or else
// `owner` owns them all. An owner reduces its elements over all ranks; with `share` everybody gets
// the result.
struct Reduction {
  Place send, recv;
  size_t total, slice;
  int owner;  // a rank or kEveryone
  bool share;
  ncclDataType_t type;
  ncclRedOp_t op;
  int elementBytes;
@SCALE_FIELDS@};

// First element of rank p's part of the input, and how many elements rank p owns.
__device__ inline size_t firstOf(const Reduction& r, int p) {
  return r.owner == kEveryone ? p * r.slice : 0;
}
__device__ inline size_t countOf(const Reduction& r, int p) {
  if (r.owner != kEveryone) return r.owner == p ? r.total : 0;
  size_t first = p * r.slice;
  return first >= r.total ? 0 : smaller(r.slice, r.total - first);
}
// Where rank p's results go in a receive buffer.
__device__ inline size_t resultOf(const Reduction& r, int p) { return r.share ? firstOf(r, p) : 0; }

// Sums are taken in rank order, so every run gives the same bits. Half types add up in float.
template <typename Element>
struct Accumulator {
  using type = Element;
};
@HALF_ACCUMULATORS@@SCALE@
template <typename Total>
__device__ inline Total fold(ncclRedOp_t op, Total a, Total b) {
  switch (op) {
    case ncclProd:
      return a * b;
    case ncclMax:
      return a < b ? b : a;
    case ncclMin:
      return b < a ? b : a;
    default:  // ncclSum, ncclAvg
      return a + b;
  }
}

// Elements that move as one word.
template <typename Element, int kCount>
struct alignas(kCount * sizeof(Element)) Pack {
  Element item[kCount];
};

// Calls store(i, word) for words first, first + step, ... below count, of kCount elements each: the
// reduction of word i of load(rank) over the ranks.
template <typename Element, int kCount, typename Load, typename Store@SCALES_TYPE@>
__device__ void reduceWords(ncclRedOp_t op, int ranks, size_t first, size_t count, size_t step,
                            Load load, Store store@SCALES_PARAMETER@) {
  using Total = typename Accumulator<Element>::type;
  using Word = Pack<Element, kCount>;
  for (size_t i = first; i < count; i += step) {
    Word word = reinterpret_cast<const Word*>(load(0))[i];
    Total value[kCount];
    for (int k = 0; k < kCount; ++k) value[k] = @FIRST@;
    for (int rank = 1; rank < ranks; ++rank) {
      word = reinterpret_cast<const Word*>(load(rank))[i];
      for (int k = 0; k < kCount; ++k) {
        value[k] = fold<Total>(op, value[k], @NEXT@);
      }
    }
    for (int k = 0; k < kCount; ++k) {
      if (op == ncclAvg) value[k] = static_cast<Total>(value[k] / ranks);
      word.item[k] = static_cast<Element>(value[k]);
    }
    store(i, word);
  }
}

// Reduces `count` elements: in words of 16 bytes where all that load and store name is `wide`, that
// is aligned so, and the rest one by one.
template <typename Element, typename Load, typename Store@SCALES_TYPE@>
__device__ void reduceAs(ncclRedOp_t op, int ranks, size_t first, size_t count, size_t step,
                         bool wide, Load load, Store store@SCALES_PARAMETER@) {
  constexpr int kWide = sizeof(uint4) / sizeof(Element);
  size_t words = wide ? count / kWide : 0;
  reduceWords<Element, kWide>(op, ranks, first, words, step, load, store@SCALES@);
  reduceWords<Element, 1>(op, ranks, words * kWide + first, count, step, load, store@SCALES@);
}
