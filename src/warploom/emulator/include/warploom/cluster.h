// Clusters of thread blocks: who is in the running block's, their barrier, their shared memory.
#pragma once

#include "device.h"

namespace warploom {

// What `__cluster_dims__` asks for: the first statement of the kernel.
void cluster_dims(unsigned _Wx, unsigned _Wy = 1, unsigned _Wz = 1);
// Its shape, and the place of the running block in it, in blocks; each launch has clusters.
dim3 cluster_shape();
dim3 cluster_place();
// The barrier of all threads of the cluster, in two halves; a relaxed arrival releases nothing.
void cluster_arrive(bool release);
void cluster_wait();
// Both, by all threads of the block.
void cluster_barrier();
// The same place in the shared memory of the block with this rank.
void* cluster_map(const void* p, unsigned rank);
unsigned cluster_rank_of(const void* p);  // of the block whose shared memory it is

inline unsigned cluster_size() {
  const dim3 shape = cluster_shape();
  return shape.x * shape.y * shape.z;
}
inline unsigned cluster_rank() {
  const dim3 shape = cluster_shape(), place = cluster_place();
  return (place.z * shape.y + place.y) * shape.x + place.x;
}

}  // namespace warploom
