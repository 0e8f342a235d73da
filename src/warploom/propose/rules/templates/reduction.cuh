
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
};

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
@HALF_ACCUMULATORS@
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

// Calls store(i, value) for elements [0, count): value is the reduction of load(rank, i).
template <typename Element, typename Load, typename Store>
__device__ void reduceAs(ncclRedOp_t op, int ranks, size_t first, size_t count, size_t step,
                         Load load, Store store) {
  using Total = typename Accumulator<Element>::type;
  for (size_t i = first; i < count; i += step) {
    Total value = static_cast<Total>(load(0)[i]);
    for (int rank = 1; rank < ranks; ++rank) {
      value = fold<Total>(op, value, static_cast<Total>(load(rank)[i]));
    }
    if (op == ncclAvg) value = static_cast<Total>(value / ranks);
    store(i, static_cast<Element>(value));
  }
}
