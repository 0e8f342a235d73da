// What the threads of a block do together: CUB's reductions, scans, loads, stores and sorts. They
// exchange through the temporary storage that the program gives, so that its reuse without a
// barrier is seen.
#pragma once

#include <warploom/libraries/cub_warp.h>

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class _WT, int dim_x, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int dim_y = 1,
          int dim_z = 1, int = 0>
class BlockReduce {
  static constexpr int kThreads = dim_x * dim_y * dim_z, kWarps = (kThreads + 31) / 32;

 public:
  using TempStorage = WarploomSlots<_WT, kWarps>;
  BlockReduce() : storage_(own()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  // For thread 0.
  template <class Op>
  _WT Reduce(_WT input, Op op) {
    return reduce(input, op, kThreads);
  }
  template <class Op>
  _WT Reduce(_WT input, Op op, int valid) {
    return reduce(input, op, valid);
  }
  template <int items, class Op>
  _WT Reduce(_WT (&inputs)[items], Op op) {
    _WT sum = inputs[0];
    for (int i = 1; i < items; i++) sum = op(sum, inputs[i]);
    warploom::count_operations(items);
    return reduce(sum, op, kThreads);
  }
  _WT Sum(_WT input) { return Reduce(input, cub::Sum()); }
  _WT Sum(_WT input, int valid) { return Reduce(input, cub::Sum(), valid); }
  template <int items>
  _WT Sum(_WT (&inputs)[items]) {
    return Reduce(inputs, cub::Sum());
  }

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockReduce");
  }
  template <class Op>
  _WT reduce(_WT input, Op op, int valid) {
    const int thread = static_cast<int>(warploom::libraries::linear_thread());
    const int first = thread / 32 * 32, left = valid - first;
    const auto lanes = static_cast<unsigned>(left < 0 ? 0 : left < 32 ? left : 32);
    const unsigned there = static_cast<unsigned>(kThreads - first < 32 ? kThreads - first : 32);
    input = warploom::libraries::reduce_lanes(32, input, op, lanes < there ? lanes : there);
    if (thread == first && left > 0) storage_.values()[first / 32] = input;
    warploom::block_barrier(__LINE__);
    if (thread == 0) {
      for (int warp = 1; warp * 32 < valid && warp < kWarps; warp++) {
        input = op(input, storage_.values()[warp]);
      }
      warploom::count_operations(kWarps);
    }
    return input;
  }
  TempStorage& storage_;
};

template <class _WT, int dim_x, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int dim_y = 1,
          int dim_z = 1, int = 0>
class BlockScan {
  static constexpr int kThreads = dim_x * dim_y * dim_z, kWarps = (kThreads + 31) / 32;

 public:
  using TempStorage = WarploomSlots<_WT, kWarps + 1>;  // a sum for each warp, and what comes before
  BlockScan() : storage_(own()) {}
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

#define WARPLOOM_BLOCK_SUMS(kind)                                                            \
  void kind##Sum(_WT input, _WT& output) { one<k##kind>(input, output, _WT{}, cub::Sum()); } \
  void kind##Sum(_WT input, _WT& output, _WT& total) {                                       \
    total = one<k##kind>(input, output, _WT{}, cub::Sum());                                  \
  }                                                                                          \
  template <class Callback>                                                                  \
  void kind##Sum(_WT input, _WT& output, Callback& callback) {                               \
    prefixed<k##kind>(input, output, cub::Sum(), callback);                                  \
  }                                                                                          \
  template <int items>                                                                       \
  void kind##Sum(_WT(&input)[items], _WT(&output)[items]) {                                  \
    many<k##kind>(input, output, _WT{}, cub::Sum());                                         \
  }                                                                                          \
  template <int items>                                                                       \
  void kind##Sum(_WT(&input)[items], _WT(&output)[items], _WT& total) {                      \
    total = many<k##kind>(input, output, _WT{}, cub::Sum());                                 \
  }                                                                                          \
  template <int items, class Callback>                                                       \
  void kind##Sum(_WT(&input)[items], _WT(&output)[items], Callback& callback) {              \
    many_prefixed<k##kind>(input, output, cub::Sum(), callback);                             \
  }
  enum Kind { kExclusive, kInclusive };
  WARPLOOM_BLOCK_SUMS(Exclusive)
  WARPLOOM_BLOCK_SUMS(Inclusive)
#undef WARPLOOM_BLOCK_SUMS

  template <class Op>
  void ExclusiveScan(_WT input, _WT& output, _WT initial, Op op) {
    one<kExclusive>(input, output, initial, op, true);
  }
  template <class Op>
  void ExclusiveScan(_WT input, _WT& output, _WT initial, Op op, _WT& total) {
    total = one<kExclusive>(input, output, initial, op, true);
  }
  template <int items, class Op>
  void ExclusiveScan(_WT (&input)[items], _WT (&output)[items], _WT initial, Op op) {
    many<kExclusive>(input, output, initial, op, true);
  }
  template <int items, class Op>
  void ExclusiveScan(_WT (&input)[items], _WT (&output)[items], _WT initial, Op op, _WT& total) {
    total = many<kExclusive>(input, output, initial, op, true);
  }
  template <class Op>
  void InclusiveScan(_WT input, _WT& output, Op op) {
    one<kInclusive>(input, output, input, op);
  }
  template <class Op>
  void InclusiveScan(_WT input, _WT& output, Op op, _WT& total) {
    total = one<kInclusive>(input, output, input, op);
  }
  template <int items, class Op>
  void InclusiveScan(_WT (&input)[items], _WT (&output)[items], Op op) {
    many<kInclusive>(input, output, input[0], op);
  }
  template <int items, class Op>
  void InclusiveScan(_WT (&input)[items], _WT (&output)[items], Op op, _WT& total) {
    total = many<kInclusive>(input, output, input[0], op);
  }

 private:
  static TempStorage& own() {
    struct Tag {};
    return warploom::shared_variable<TempStorage, Tag>("cub::BlockScan");
  }
  // What comes before a thread, by all that its block gives; the sum of all is returned.
  template <class Op>
  _WT before(_WT input, Op op, _WT& sum, bool& first, _WT& inclusive) {
    const unsigned thread = warploom::libraries::linear_thread(), warp = thread / 32;
    inclusive = warploom::libraries::scan_lanes(32, input, op);
    sum = warploom::libraries::lane_before(32, inclusive, inclusive);
    const bool last = thread % 32 == 31 || thread + 1 == kThreads;
    if (last) storage_.values()[warp] = inclusive;
    warploom::block_barrier(__LINE__);
    first = thread == 0;
    _WT total = storage_.values()[0];
    _WT ahead = total;
    for (unsigned other = 1; other < kWarps; other++) {
      if (other == warp) ahead = total;
      total = op(total, storage_.values()[other]);
    }
    warploom::count_operations(kWarps);
    if (warp > 0) {
      sum = thread % 32 ? op(ahead, sum) : ahead;
      inclusive = op(ahead, inclusive);
    }
    return total;
  }
  template <Kind kind, class Op>
  _WT one(_WT input, _WT& output, _WT initial, Op op, bool seeded = false) {
    _WT sum = input, inclusive = input;
    bool first = false;
    const _WT total = before(input, op, sum, first, inclusive);
    if (kind == kInclusive) {
      output = inclusive;
    } else {
      output = first ? initial : seeded ? op(initial, sum) : sum;
    }
    return total;
  }
  template <Kind kind, class Op, class Callback>
  void prefixed(_WT input, _WT& output, Op op, Callback& callback) {
    _WT sum = input, inclusive = input;
    bool first = false;
    const _WT total = before(input, op, sum, first, inclusive);
    const _WT prefix = call(total, callback);
    output = kind == kInclusive ? op(prefix, inclusive) : first ? prefix : op(prefix, sum);
  }
  // The first warp asks the program for what comes before the block.
  template <class Callback>
  _WT call(const _WT& total, Callback& callback) {
    const unsigned thread = warploom::libraries::linear_thread();
    if (thread < 32) {
      const _WT prefix = callback(total);
      if (thread == 0) storage_.values()[kWarps] = prefix;
    }
    warploom::block_barrier(__LINE__);
    return storage_.values()[kWarps];
  }
  template <Kind kind, int items, class Op>
  void spread(_WT (&input)[items], _WT (&output)[items], _WT running, bool has, Op op) {
    for (int i = 0; i < items; i++) {
      const _WT value = input[i];
      const _WT next = has ? op(running, value) : value;
      output[i] = kind == kInclusive ? next : running;
      running = next;
      has = true;
    }
    warploom::count_operations(items);
  }
  template <int items, class Op>
  _WT fold(_WT (&input)[items], Op op) {
    _WT sum = input[0];
    for (int i = 1; i < items; i++) sum = op(sum, input[i]);
    warploom::count_operations(items);
    return sum;
  }
  template <Kind kind, int items, class Op>
  _WT many(_WT (&input)[items], _WT (&output)[items], _WT initial, Op op, bool seeded = false) {
    const _WT mine = fold(input, op);
    _WT sum = mine, inclusive = mine;
    bool first = false;
    const _WT total = before(mine, op, sum, first, inclusive);
    _WT running = first ? initial : sum;
    if (seeded && !first) running = op(initial, sum);
    spread<kind>(input, output, running, kind == kExclusive || !first, op);
    return total;
  }
  template <Kind kind, int items, class Op, class Callback>
  void many_prefixed(_WT (&input)[items], _WT (&output)[items], Op op, Callback& callback) {
    const _WT mine = fold(input, op);
    _WT sum = mine, inclusive = mine;
    bool first = false;
    const _WT total = before(mine, op, sum, first, inclusive);
    const _WT prefix = call(total, callback);
    spread<kind>(input, output, first ? prefix : op(prefix, sum), true, op);
  }
  TempStorage& storage_;
};

}  // namespace cub
