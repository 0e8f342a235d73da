// Cooperative groups: the cluster of the block.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

class cluster_group : public thread_group {
 public:
  struct arrival_token {};
  cluster_group() : thread_group(details::Shape::Cluster, 0, 0) {}
  static void sync() { warploom::cluster_barrier(); }
  static arrival_token barrier_arrive() {
    warploom::cluster_arrive(true);
    return {};
  }
  static void barrier_wait() { warploom::cluster_wait(); }
  static void barrier_wait(arrival_token&&) { warploom::cluster_wait(); }
  static unsigned query_shared_rank(const void* address) {
    return warploom::cluster_rank_of(address);
  }
  template <class _WT>
  static _WT* map_shared_rank(_WT* address, int rank) {
    return static_cast<_WT*>(warploom::cluster_map(address, static_cast<unsigned>(rank)));
  }
  static dim3 block_index() { return warploom::cluster_place(); }
  static unsigned block_rank() { return warploom::cluster_rank(); }
  static dim3 thread_index() {
    const dim3 block = warploom::cluster_place();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                block.z * blockDim.z + threadIdx.z);
  }
  static unsigned thread_rank() {
    return warploom::cluster_rank() * details::block_threads() + details::linear_thread();
  }
  static dim3 dim_blocks() { return warploom::cluster_shape(); }
  static unsigned num_blocks() { return warploom::cluster_size(); }
  static dim3 dim_threads() {
    const dim3 shape = warploom::cluster_shape();
    return dim3(shape.x * blockDim.x, shape.y * blockDim.y, shape.z * blockDim.z);
  }
  static unsigned num_threads() { return warploom::cluster_size() * details::block_threads(); }
  static unsigned size() { return num_threads(); }
};
inline cluster_group this_cluster() { return cluster_group(); }

}  // namespace cooperative_groups
