// Cooperative groups: the block, the grid, tiles of a warp, and lanes that came
// together.
#pragma once

#include "../cuda_runtime.h"
#include "cluster.h"
#include "group_operators.h"

namespace cooperative_groups {

namespace details {

enum class Shape { Block, Cluster, Grid, Lanes, Part };

WARPLOOM_INLINED inline unsigned linear_thread() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
WARPLOOM_INLINED inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
WARPLOOM_INLINED inline unsigned lanes(unsigned count) {
  return count >= 32 ? 0xFFFFFFFFu : (1u << count) - 1;
}
WARPLOOM_INLINED inline unsigned lanes_below() { return (1u << warploom::lane_index()) - 1; }
// The lane of the member with this rank.
WARPLOOM_UNCHECKED inline unsigned lane_of(unsigned mask, unsigned rank) {
  for (; rank > 0; rank--) mask &= mask - 1;
  return mask ? static_cast<unsigned>(__builtin_ctz(mask)) : 32;
}
// The bits of `votes` at the lanes of `mask`, packed by rank.
WARPLOOM_UNCHECKED inline unsigned pack(unsigned mask, unsigned votes) {
  unsigned packed = 0;
  for (unsigned rank = 0; mask; rank++, mask &= mask - 1) {
    packed |= (votes >> __builtin_ctz(mask) & 1u) << rank;
  }
  return packed;
}

}  // namespace details

// Any group: what it consists of, and what all groups can do.
class alignas(8) thread_group {
 public:
  using size_type = unsigned long long;
  unsigned long long num_threads() const {
    if (shape_ == details::Shape::Lanes) return static_cast<unsigned>(__builtin_popcount(mask_));
    if (shape_ == details::Shape::Part) return size_;
    const unsigned long long block = details::block_threads();
    if (shape_ == details::Shape::Cluster) return block * warploom::cluster_size();
    return shape_ == details::Shape::Block ? block : block * gridDim.x * gridDim.y * gridDim.z;
  }
  unsigned long long size() const { return num_threads(); }
  unsigned long long thread_rank() const {
    if (shape_ == details::Shape::Lanes) {
      return static_cast<unsigned>(__builtin_popcount(mask_ & details::lanes_below()));
    }
    if (shape_ == details::Shape::Part) return details::linear_thread() % size_;
    if (shape_ == details::Shape::Block) return details::linear_thread();
    if (shape_ == details::Shape::Cluster) {
      return warploom::cluster_rank() * details::block_threads() + details::linear_thread();
    }
    const unsigned long long block =
        (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
        blockIdx.x;
    return block * details::block_threads() + details::linear_thread();
  }
  void sync(int site = WARPLOOM_SITE) const {
    switch (shape_) {
      case details::Shape::Lanes:
        return warploom::warp_barrier(mask_);
      case details::Shape::Part:
        return warploom::named_barrier(kFirstPart + size_ * 64 + details::linear_thread() / size_,
                                       size_, site);
      case details::Shape::Block:
        warploom::block_barrier(site);
        return;
      case details::Shape::Cluster:
        return warploom::cluster_barrier();
      default:
        return warploom::grid_barrier(site);
    }
  }

 protected:
  static constexpr unsigned kFirstPart = 1 << 20;  // barrier numbers that no program uses
  thread_group(details::Shape shape, unsigned mask, unsigned size)
      : shape_(shape), mask_(mask), size_(size) {}
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);

  // Groups are as large as CUDA's.
  details::Shape shape_;
  unsigned short group_ = 0, groups_ = 0;  // of Lanes: which one of how many
  unsigned mask_;                          // of Lanes
  unsigned size_;                          // of Part
};

class thread_block : public thread_group {
 public:
  thread_block() : thread_group(details::Shape::Block, 0, 0) {}
  WARPLOOM_INLINED static unsigned thread_rank() { return details::linear_thread(); }
  WARPLOOM_INLINED static unsigned num_threads() { return details::block_threads(); }
  WARPLOOM_INLINED static unsigned size() { return details::block_threads(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  WARPLOOM_INLINED static void sync(int site = WARPLOOM_SITE) { warploom::block_barrier(site); }

 private:
  char warploom_rest[8] = {};
};
WARPLOOM_INLINED inline thread_block this_thread_block() { return thread_block(); }
// What CUDA wants for tiles of several warps; ours need nothing of it.
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
  unsigned long long reserved[MaxBlockSize / 32];
};
template <unsigned MaxBlockSize>
thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
  return thread_block();
}

class grid_group : public thread_group {
 public:
  grid_group() : thread_group(details::Shape::Grid, 0, 0) {}
  bool is_valid() const { return warploom::grid_is_cooperative(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 dim_threads() {
    return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
  }
  static dim3 block_index() { return blockIdx; }
  static dim3 thread_index() {
    return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z);
  }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
};
inline grid_group this_grid() { return grid_group(); }

// Lanes of one warp: shuffles and votes by rank in the group.
class lane_group : public thread_group {
 public:
  unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & details::lanes_below()));
  }
  unsigned meta_group_size() const { return groups_; }
  unsigned meta_group_rank() const { return group_; }

  template <class _WT>
  _WT shfl(_WT value, int rank) const {
    return at_rank(value, static_cast<unsigned>(rank) % num_threads());
  }
  template <class _WT>
  _WT shfl_up(_WT value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return at_rank(value, rank >= delta ? rank - delta : rank);
  }
  template <class _WT>
  _WT shfl_down(_WT value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return at_rank(value, rank + delta < num_threads() ? rank + delta : rank);
  }
  int any(int predicate) const { return warploom::warp_ballot(mask_, predicate) != 0; }
  int all(int predicate) const { return warploom::warp_ballot(mask_, !predicate) == 0; }
  unsigned ballot(int predicate) const {
    return details::pack(mask_, warploom::warp_ballot(mask_, predicate));
  }
  template <class _WT>
  unsigned match_any(_WT value) const {
    return details::pack(mask_, __match_any_sync(mask_, value));
  }
  template <class _WT>
  unsigned match_all(_WT value, int& predicate) const {
    return details::pack(mask_, __match_all_sync(mask_, value, &predicate));
  }
  unsigned lanes() const { return mask_; }  // ours: the group as a mask of the warp

 protected:
  lane_group(unsigned mask, unsigned group, unsigned groups)
      : thread_group(details::Shape::Lanes, mask, 0) {
    group_ = static_cast<unsigned short>(group);
    groups_ = static_cast<unsigned short>(groups);
  }
  template <class _WT>
  _WT at_rank(_WT value, unsigned rank) const {
    return warploom::shuffle(mask_, value, details::lane_of(mask_, rank));
  }
};

class coalesced_group : public lane_group {
 public:
  coalesced_group(unsigned mask, unsigned group = 0, unsigned groups = 1)
      : lane_group(mask, group, groups) {}
};
inline coalesced_group coalesced_threads(int site = WARPLOOM_SITE) {
  return coalesced_group(warploom::active_mask(site));
}

namespace details {
WARPLOOM_INLINED inline unsigned tile_mask(unsigned size) {
  const unsigned lane = warploom::lane_index(), first = lane / size * size;
  const unsigned warp_start = linear_thread() - lane;
  const unsigned left = block_threads() - warp_start;
  return lanes(size) << first & lanes(left);
}
}  // namespace details

template <unsigned Size, class Parent = void, bool InWarp = (Size <= 32)>
class thread_block_tile;

template <unsigned Size, class Parent>
class thread_block_tile<Size, Parent, true> : public lane_group {
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");

 public:
  // What contains the tile: `parent` lanes.
  explicit thread_block_tile(unsigned parent)
      : lane_group(
            details::tile_mask(Size),
            (parent > 32 ? details::linear_thread() : warploom::lane_index()) % parent / Size,
            (parent + Size - 1) / Size) {}
  template <class OtherParent>
  thread_block_tile(const thread_block_tile<Size, OtherParent, true>& other) : lane_group(other) {}
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  WARPLOOM_INLINED unsigned thread_rank() const { return warploom::lane_index() % Size; }
  template <class _WT>
  WARPLOOM_INLINED _WT shfl(_WT value, int rank) const {
    return ::warploom::shfl(mask_, value, rank, static_cast<int>(Size));
  }
  template <class _WT>
  WARPLOOM_INLINED _WT shfl_up(_WT value, unsigned delta) const {
    return ::warploom::shfl_up(mask_, value, delta, static_cast<int>(Size));
  }
  template <class _WT>
  WARPLOOM_INLINED _WT shfl_down(_WT value, unsigned delta) const {
    return ::warploom::shfl_down(mask_, value, delta, static_cast<int>(Size));
  }
  template <class _WT>
  WARPLOOM_INLINED _WT shfl_xor(_WT value, unsigned bits) const {
    return ::warploom::shfl_xor(mask_, value, static_cast<int>(bits), static_cast<int>(Size));
  }
};

// A tile of several warps exchanges values through memory.
template <unsigned Size, class Parent>
class thread_block_tile<Size, Parent, false> : public thread_group {
  static_assert((Size & (Size - 1)) == 0, "the size of a tile is a power of two");

 public:
  explicit thread_block_tile(unsigned parent)
      : thread_group(details::Shape::Part, 0, Size), parent_(parent) {}
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  unsigned thread_rank() const { return details::linear_thread() % Size; }
  unsigned meta_group_rank() const { return details::linear_thread() % parent_ / Size; }
  unsigned meta_group_size() const { return (parent_ + Size - 1) / Size; }
  template <class _WT>
  _WT shfl(_WT value, int rank, int site = WARPLOOM_SITE) const {
    return exchange(
        value, [rank](const _WT* all) WARPLOOM_UNCHECKED { return all[unsigned(rank) % Size]; },
        site);
  }
  int any(int predicate, int site = WARPLOOM_SITE) const {
    return combined(predicate != 0, [](int _Wa, int _Wb) { return _Wa | _Wb; }, site);
  }
  int all(int predicate, int site = WARPLOOM_SITE) const {
    return combined(predicate != 0, [](int _Wa, int _Wb) { return _Wa & _Wb; }, site);
  }
  // Ours: what `read` makes of the values of all members.
  template <class _WT, class Read>
  WARPLOOM_UNCHECKED _WT exchange(_WT value, Read&& read, int site) const {
    auto* all = static_cast<_WT*>(warploom::part_memory(part(), Size * sizeof(_WT)));
    std::memcpy(all + thread_rank(), &value, sizeof(_WT));
    sync(site);
    const _WT result = read(all);
    sync(site);
    return result;
  }
  // Ours: the values of all members, combined in order of rank.
  template <class _WT, class Operator>
  _WT combined(_WT value, Operator&& combine, int site) const {
    return exchange(
        value,
        [&combine](const _WT* all) WARPLOOM_UNCHECKED {
          _WT result = all[0];
          for (unsigned rank = 1; rank < Size; rank++) {
            const _WT next = all[rank];  // the operator may take references
            result = combine(result, next);
          }
          return result;
        },
        site);
  }

 private:
  unsigned part() const { return kFirstPart + Size * 64 + details::linear_thread() / Size; }
  unsigned parent_;
};

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return thread_block_tile<Size, thread_block>(details::block_threads());
}
template <unsigned Size, unsigned Outer, class Parent>
thread_block_tile<Size, thread_block_tile<Outer, Parent>> tiled_partition(
    const thread_block_tile<Outer, Parent>&) {
  static_assert(Size <= Outer);
  return thread_block_tile<Size, thread_block_tile<Outer, Parent>>(Outer);
}
// Consecutive ranks of `parent`, `size` in each group.
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (size > 32 || parent.shape_ == details::Shape::Part) {
    return thread_group(details::Shape::Part, 0, size);
  }
  if (parent.shape_ == details::Shape::Block) {
    return thread_group(details::Shape::Lanes, details::tile_mask(size), 0);
  }
  const auto first = static_cast<unsigned>(parent.thread_rank()) / size * size;
  unsigned mask = 0;
  for (unsigned rank = first; rank < first + size && rank < parent.num_threads(); rank++) {
    mask |= 1u << details::lane_of(parent.mask_, rank);
  }
  return thread_group(details::Shape::Lanes, mask, 0);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned first = parent.thread_rank() / size * size;
  unsigned mask = 0;
  for (unsigned rank = first; rank < first + size && rank < parent.num_threads(); rank++) {
    mask |= 1u << details::lane_of(parent.lanes(), rank);
  }
  return coalesced_group(mask, first / size, (parent.num_threads() + size - 1) / size);
}

// Members with the same label.
template <class Label>
coalesced_group labeled_partition(const lane_group& group, Label label) {
  static_assert(std::is_integral_v<Label>);
  std::uint64_t all[32];
  const auto mine = static_cast<std::uint64_t>(label);
  warploom::warp_gather(group.lanes(), mine, all);
  const unsigned lanes = group.lanes() & warploom::warp_present();
  unsigned same = 0, groups = 0, before = 0;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(lanes >> lane & 1)) continue;
    if (all[lane] == mine) same |= 1u << lane;
    bool first = true;
    for (unsigned other = 0; other < lane; other++) {
      if ((lanes >> other & 1) && all[other] == all[lane]) first = false;
    }
    groups += first;
    before += first && all[lane] < mine;
  }
  return coalesced_group(same, before, groups);
}
inline coalesced_group binary_partition(const lane_group& group, bool predicate) {
  return labeled_partition(group, static_cast<int>(predicate));
}

template <class Group>
void sync(const Group& group, int site = WARPLOOM_SITE) {
  group.sync(site);
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.num_threads();
}

template <class Group, class Function, class... Args>
void invoke_one(const Group& group, Function&& function, Args&&... args) {
  if (group.thread_rank() == 0) function(std::forward<Args>(args)...);
}
template <class Function, class... Args>
auto invoke_one_broadcast(const lane_group& group, Function&& function, Args&&... args) {
  decltype(function(std::forward<Args>(args)...)) result{};
  if (group.thread_rank() == 0) result = function(std::forward<Args>(args)...);
  return group.shfl(result, 0);
}

}  // namespace cooperative_groups
