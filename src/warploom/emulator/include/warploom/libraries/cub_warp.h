// What the threads of a warp do together.
#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

#include "cub_operators.h"

#define CUB_VERSION 300000
#define CUB_MAJOR_VERSION 3
#define CUB_MINOR_VERSION 0
#define CUB_SUBMINOR_VERSION 0
#define CUB_PTX_WARP_THREADS 32

namespace cub {

// Memory for values whose constructors do not run, as in shared memory.
template <class _WT, int count>
struct WarploomSlots {
  alignas(_WT) unsigned char bytes[sizeof(_WT) * count];
  _WT* values() { return reinterpret_cast<_WT*>(bytes); }
};
struct NullType {};

inline int LaneId() { return static_cast<int>(warploom::lane_index()); }
inline int WarpId() { return static_cast<int>(WARPLOOM_HERE._Wthread.linear / 32); }
template <class _WA, class _WB>
constexpr auto DivideAndRoundUp(_WA a, _WB b) {
  return (a + b - 1) / b;
}

}  // namespace cub

namespace warploom::libraries {

WARPLOOM_UNCHECKED inline unsigned linear_thread() { return WARPLOOM_HERE._Wthread.linear; }
inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// The lanes of a logical warp of `width` threads that the block has.
inline unsigned lanes_of(unsigned width) {
  const unsigned lane = lane_index(), first = lane / width * width;
  const unsigned warp_first = linear_thread() - lane, all = threads_of_block();
  const unsigned there = all - warp_first < 32 ? all - warp_first : 32;
  const unsigned end = first + width < there ? first + width : there;
  return (end == 32 ? ~0u : (1u << end) - 1) & (~0u << first);
}

// Each lane gets the value of the lane `source`, whatever its type.
template <class _WT>
WARPLOOM_UNCHECKED inline _WT lane_value(unsigned mask, const _WT& value, unsigned source) {
  constexpr std::size_t words = (sizeof(_WT) + 7) / 8;
  std::uint64_t parts[words] = {};
  std::memcpy(parts, &value, sizeof(_WT));
  for (std::uint64_t& part : parts) part = warp_exchange(mask, part, source);
  _WT result = value;
  std::memcpy(static_cast<void*>(&result), parts, sizeof(_WT));
  return result;
}

// The values of lanes 0 to `valid` of a logical warp, joined in their order: for its lane 0.
template <class _WT, class Op>
_WT reduce_lanes(unsigned width, _WT value, Op op, unsigned valid) {
  const unsigned mask = lanes_of(width), own = lane_index(), lane = own % width;
  for (unsigned step = 1; step < width; step *= 2) {
    const bool joins = lane % (2 * step) == 0 && lane + step < valid;
    const _WT other = lane_value(mask, value, lane + step < valid ? own + step : own);
    if (joins) value = op(value, other);
  }
  count_operations(5);
  return value;
}
// What lanes 0 up to each one give, joined in their order.
template <class _WT, class Op>
_WT scan_lanes(unsigned width, _WT value, Op op) {
  const unsigned mask = lanes_of(width), own = lane_index(), lane = own % width;
  for (unsigned step = 1; step < width; step *= 2) {
    const _WT other = lane_value(mask, value, lane >= step ? own - step : own);
    if (lane >= step) value = op(other, value);
  }
  count_operations(5);
  return value;
}
// The value of the lane before, `first` for lane 0.
template <class _WT>
_WT lane_before(unsigned width, const _WT& value, const _WT& first) {
  const unsigned own = lane_index(), lane = own % width;
  const _WT before = lane_value(lanes_of(width), value, lane ? own - 1 : own);
  return lane ? before : first;
}

}  // namespace warploom::libraries

namespace cub {

template <class _WT, int width = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {};
  WarpReduce() = default;
  explicit WarpReduce(TempStorage&) {}
  template <class Op>
  _WT Reduce(_WT input, Op op) {
    return warploom::libraries::reduce_lanes(width, input, op, there());
  }
  template <class Op>
  _WT Reduce(_WT input, Op op, int valid) {
    return warploom::libraries::reduce_lanes(width, input, op, static_cast<unsigned>(valid));
  }
  _WT Sum(_WT input) { return Reduce(input, cub::Sum()); }
  _WT Sum(_WT input, int valid) { return Reduce(input, cub::Sum(), valid); }
  _WT Max(_WT input) { return Reduce(input, ::cuda::maximum<_WT>()); }
  _WT Min(_WT input) { return Reduce(input, ::cuda::minimum<_WT>()); }

 private:
  static unsigned there() {
    return static_cast<unsigned>(__builtin_popcount(warploom::libraries::lanes_of(width)));
  }
};

template <class _WT, int width = 32, int = 0>
class WarpScan {
 public:
  struct TempStorage {};
  WarpScan() = default;
  explicit WarpScan(TempStorage&) {}

  template <class Op>
  void InclusiveScan(_WT input, _WT& output, Op op) {
    output = warploom::libraries::scan_lanes(width, input, op);
  }
  template <class Op>
  void InclusiveScan(_WT input, _WT& output, Op op, _WT& total) {
    InclusiveScan(input, output, op);
    total = last(output);
  }
  template <class Op>
  void ExclusiveScan(_WT input, _WT& output, _WT initial, Op op) {
    const _WT sum = warploom::libraries::scan_lanes(width, input, op);
    const unsigned lane = warploom::lane_index() % width;
    const _WT before = warploom::libraries::lane_before(width, sum, initial);
    output = lane ? op(initial, before) : initial;
  }
  template <class Op>
  void ExclusiveScan(_WT input, _WT& output, _WT initial, Op op, _WT& total) {
    const _WT sum = warploom::libraries::scan_lanes(width, input, op);
    ExclusiveScan(input, output, initial, op);
    total = last(sum);
  }
  // The first lane's output says nothing.
  template <class Op>
  void ExclusiveScan(_WT input, _WT& output, Op op) {
    const _WT sum = warploom::libraries::scan_lanes(width, input, op);
    output = warploom::libraries::lane_before(width, sum, sum);
  }
  void InclusiveSum(_WT input, _WT& output) { InclusiveScan(input, output, cub::Sum()); }
  void InclusiveSum(_WT input, _WT& output, _WT& total) {
    InclusiveScan(input, output, cub::Sum(), total);
  }
  void ExclusiveSum(_WT input, _WT& output) { ExclusiveScan(input, output, _WT{}, cub::Sum()); }
  void ExclusiveSum(_WT input, _WT& output, _WT& total) {
    ExclusiveScan(input, output, _WT{}, cub::Sum(), total);
  }
  template <class Op>
  void Scan(_WT input, _WT& inclusive, _WT& exclusive, _WT initial, Op op) {
    const _WT sum = warploom::libraries::scan_lanes(width, input, op);
    ExclusiveScan(input, exclusive, initial, op);
    inclusive = op(initial, sum);
  }
  _WT Broadcast(_WT input, unsigned source) {
    const unsigned first = warploom::lane_index() / width * width;
    return warploom::libraries::lane_value(warploom::libraries::lanes_of(width), input,
                                           first + source);
  }

 private:
  _WT last(const _WT& value) {
    const unsigned mask = warploom::libraries::lanes_of(width);
    return warploom::libraries::lane_value(mask, value,
                                           31u - static_cast<unsigned>(__builtin_clz(mask)));
  }
};

}  // namespace cub
