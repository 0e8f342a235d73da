// CORPUS run=2,4
// All-gather by stores into the peers' memory, between two LSA barriers; the next kernel reads.
//
// DEFECT NO_EXIT_BARRIER data_race: nothing orders the peers' stores before the next kernel
// DEFECT NO_ENTRY_BARRIER data_race: stores into a buffer that a peer may still be reading
// DEFECT ACQUIRE_EXIT data_race: an acquire barrier publishes none of this CTA's stores
// DEFECT SMALL_TEAM peer_not_in_lsa_team run=4/2: the LSA team is smaller than the world
// DEFECT PAST_END out_of_bounds: the last rank stores beyond the window
// DEFECT PARTIAL_BARRIER partial_coop: half of the CTA calls a barrier of it all
// DEFECT BARRIER_INDEX barrier_index: one barrier was requested, so its index is 0
// DEFECT BLOCK_2D coop_cta_2d: ncclCoopCta knows threadIdx.x only, so two threads have rank 0
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kRounds = 3, kThreads = 64;

#if defined(DEFECT_BARRIER_INDEX)
constexpr int kBarrier = 1;
#else
constexpr int kBarrier = 0;
#endif

__global__ void all_gather(ncclDevComm dev, ncclWindow_t gathered, int round) {
  // EXPECT BARRIER_INDEX BLOCK_2D
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), kBarrier);
#if !defined(DEFECT_NO_ENTRY_BARRIER)
  // EXPECT BLOCK_2D
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
  ncclTeam lsa = ncclTeamLsa(dev);
#if defined(DEFECT_SMALL_TEAM)
  int peers = dev.nRanks;
#else
  int peers = lsa.nRanks;
#endif
  size_t block = dev.rank * kInts * sizeof(int);
#if defined(DEFECT_PAST_END)
  block += kInts * sizeof(int);
#endif
  for (int peer = 0; peer < peers; ++peer) {
    // EXPECT SMALL_TEAM PAST_END
    int* remote = static_cast<int*>(ncclGetLsaPointer(gathered, block, peer));
    for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
      // EXPECT NO_EXIT_BARRIER NO_ENTRY_BARRIER ACQUIRE_EXIT PAST_END
      remote[i] = value(dev.rank, 0, i, round);
    }
  }
#if defined(DEFECT_ACQUIRE_EXIT)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acquire);
#elif defined(DEFECT_PARTIAL_BARRIER)
  // EXPECT PARTIAL_BARRIER
  if (threadIdx.x < kThreads / 2) barrier.sync(ncclCoopCta(), cuda::memory_order_release);
#elif !defined(DEFECT_NO_EXIT_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);  // the end of the kernel acquires
#endif
  // EXPECT PARTIAL_BARRIER
}

__global__ void copy(const int* gathered, int* out, int ints) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  // EXPECT NO_EXIT_BARRIER NO_ENTRY_BARRIER ACQUIRE_EXIT
  if (i < ints) out[i] = gathered[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> gathered = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 1;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  dim3 threads(kThreads);
#if defined(DEFECT_BLOCK_2D)
  threads = dim3(kThreads / 2, 2);
#endif
  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    all_gather<<<1, threads, 0, job.stream>>>(dev, gathered.window, round);
    int ints = job.ranks * kInts;
    copy<<<(ints + kThreads - 1) / kThreads, kThreads, 0, job.stream>>>(gathered.data, out, ints);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, ints * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < ints; ++i) {
      good = good && got[i] == value(i / kInts, 0, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, gathered);
  return finish(job, good);
}
