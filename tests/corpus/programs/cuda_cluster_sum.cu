// CORPUS run=1
// Blocks in clusters add up a vector: each keeps the sum of its part in shared memory, where the
// others read it; and each counts values into the shared memory of all. The kernels are launched
// with __cluster_dims__ and with the launch attribute.
//
// DEFECT NO_SYNC cluster_misuse|shared_memory_race: reads the sums of blocks that may not have stored them
// DEFECT NO_LAST_SYNC cluster_misuse: a block may end while others still read its sum
// DEFECT BLOCK_SYNC cluster_misuse|shared_memory_race: __syncthreads waits for the own block only
// DEFECT EARLY_ADD cluster_misuse|shared_memory_race: counts into blocks that may not have begun
// DEFECT PLAIN_ADD shared_memory_race: adds without an atomic
// DEFECT LATE_WAIT shared_memory_race: reads between the arrival and the wait
// DEFECT RELAXED shared_memory_race: the arrival releases nothing
// DEFECT NO_ARRIVAL cluster_misuse: a thread waits without an arrival
// DEFECT FOREIGN_RANK cluster_misuse: the cluster has no block of this rank
// DEFECT PAST_THE_END out_of_bounds: the other block's array is not as long
// DEFECT ODD_GRID launch_error: the grid is no multiple of the cluster
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;
constexpr int kThreads = 64, kItems = 512, kBins = 32;
#define CHECK(call)                                       \
  do {                                                    \
    const cudaError_t status_ = (call);                   \
    if (status_ != cudaSuccess) {                         \
      fprintf(stderr, "%s\n", cudaGetErrorName(status_)); \
      exit(1);                                            \
    }                                                     \
  } while (0)

// The sum of the cluster's part, which each of its blocks gets.
// EXPECT ODD_GRID
template <int Blocks>
__global__ void __cluster_dims__(Blocks, 1, 1) add_up(const int* values, int* sums) {
  __shared__ int partial[kThreads];
  __shared__ int sum;
  auto cluster = cg::this_cluster();
  int own = 0;
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kItems; i += stride) own += values[i];
  partial[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int i = 0; i < kThreads; i++) total += partial[i];
    // EXPECT NO_SYNC BLOCK_SYNC
    sum = total;
  }
#if defined(DEFECT_BLOCK_SYNC)
  __syncthreads();
#elif !defined(DEFECT_NO_SYNC)
  cluster.sync();
#endif
  if (threadIdx.x == 0) {
    int total = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) {
#if defined(DEFECT_FOREIGN_RANK)
      // EXPECT FOREIGN_RANK
      total += *cluster.map_shared_rank(&sum, rank + 1);
#elif defined(DEFECT_PAST_THE_END)
      // EXPECT PAST_THE_END
      total += cluster.map_shared_rank(partial, rank)[kThreads];
#else
      // EXPECT NO_SYNC NO_LAST_SYNC BLOCK_SYNC
      total += *cluster.map_shared_rank(&sum, rank);
#endif
    }
    sums[blockIdx.x] = total;
  }
#if !defined(DEFECT_NO_LAST_SYNC)
  cluster.sync();
#endif
}

__device__ void arrive() {
#if defined(DEFECT_RELAXED)
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#elif !defined(DEFECT_NO_ARRIVAL)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ void wait() {
  // EXPECT NO_ARRIVAL
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Each block of the cluster has a part of the bins.
__global__ void count(const int* values, int* counts) {
  extern __shared__ int bins[];
  unsigned rank, ranks;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
  const int own = kBins / ranks;
  // EXPECT EARLY_ADD RELAXED
  for (int i = threadIdx.x; i < own; i += blockDim.x) bins[i] = 0;
  // EXPECT EARLY_ADD RELAXED LATE_WAIT
  arrive();
#if !defined(DEFECT_EARLY_ADD)
  wait();
#endif
  for (int i = rank * blockDim.x + threadIdx.x; i < kItems; i += ranks * blockDim.x) {
    const int bin = values[i] % kBins;
    auto here = static_cast<unsigned>(__cvta_generic_to_shared(&bins[bin % own]));
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(bin / own));
#if defined(DEFECT_PLAIN_ADD)
    int old;
    // EXPECT PLAIN_ADD
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(old) : "r"(there));
    // EXPECT PLAIN_ADD
    asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(there), "r"(old + 1));
#else
    // EXPECT EARLY_ADD RELAXED LATE_WAIT
    asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], 1;" ::"r"(there));
#endif
  }
#if defined(DEFECT_EARLY_ADD)
  wait();
#endif
  arrive();
#if !defined(DEFECT_LATE_WAIT)
  wait();
#endif
  // EXPECT LATE_WAIT EARLY_ADD RELAXED PLAIN_ADD
  for (int i = threadIdx.x; i < own; i += blockDim.x) counts[rank * own + i] = bins[i];
#if defined(DEFECT_LATE_WAIT)
  wait();
#endif
}

int main() {
  std::vector<int> values(kItems), sums(8), counts(kBins);
  int total = 0;
  std::vector<int> wanted(kBins);
  for (int i = 0; i < kItems; i++) {
    values[i] = (i * 37 + i / 7) % 101;
    total += values[i];
    wanted[values[i] % kBins]++;
  }
  int *on_device, *results;
  CHECK(cudaMalloc(&on_device, kItems * sizeof(int)));
  CHECK(cudaMalloc(&results, kBins * sizeof(int)));
  CHECK(cudaMemcpy(on_device, values.data(), kItems * sizeof(int), cudaMemcpyHostToDevice));

#if defined(DEFECT_ODD_GRID)
  // EXPECT ODD_GRID
  add_up<4><<<6, kThreads>>>(on_device, results);
#else
  add_up<4><<<4, kThreads>>>(on_device, results);
#endif
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums.data(), results, 4 * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < 4; i++) good = good && sums[i] == total;

  cudaLaunchConfig_t config{};
  config.gridDim = dim3(4);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBins / 4 * sizeof(int);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, count, (const int*)on_device, results));
  CHECK(cudaMemcpy(counts.data(), results, kBins * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kBins; i++) good = good && counts[i] == wanted[i];
  CHECK(cudaFree(results));
  CHECK(cudaFree(on_device));
  puts(good ? "ok" : "wrong");
  return good ? 0 : 1;
}
