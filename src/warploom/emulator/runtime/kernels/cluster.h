// Clusters of thread blocks, as the rest of the runtime needs them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace warploom {

struct Cluster {
  dim3 shape;                                   // in blocks
  std::vector<Block*> blocks;                   // by rank; nullptr: it has ended
  std::vector<std::pair<int, uint32_t>> ended;  // slots of shared memory, with the block's number
  // The barrier of all threads.
  uint64_t openings = 0;
  Clock released;                 // by those who have arrived since
  Clock completed;                // by all who came to the last one
  double latest = 0, opened = 0;  // modelled times: of the last arrival, of the last opening
  std::vector<Fiber*> waiting;    // for the second half
};

// The block begins: if its kernel was launched in clusters, so do the others of its own.
void enter_cluster(Block& block);
// A thread of the block has ended.
void cluster_after_exit(Block& block, GpuThread& thread);
// The block ends: nobody may still use its shared memory, or wait for it.
void leave_cluster(Block& block);
// The block whose shared memory the thread touches at `p`, which is not its own block's; nullptr:
// there is none, and if `p` is of the cluster that was reported.
Block* sharer_of(const GpuThread& thread, uintptr_t address);
// Error of a launch in such clusters, or 0.
int check_cluster_shape(const char* kernel, dim3 grid, dim3 cluster);

}  // namespace warploom
