// CORPUS run=2,4,4/2
// Each rank reads the block of the next rank in its LSA team, by world rank.
//
// DEFECT WORLD_RING peer_not_in_lsa_team run=4/2: the next rank of the world may be elsewhere
// DEFECT NO_BARRIER data_race: reads a block that its owner may not have filled yet
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kThreads = 32;

__global__ void pull(ncclDevComm dev, ncclWindow_t window, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
    // EXPECT NO_BARRIER
    mine[i] = value(dev.rank, 0, i, 0);
  }
#if !defined(DEFECT_NO_BARRIER)
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
#if defined(DEFECT_WORLD_RING)
  int peer = (dev.rank + 1) % dev.nRanks;
#else
  int peer = ncclTeamRankToWorld(dev, lsa, (lsa.rank + 1) % lsa.nRanks);
#endif
  // EXPECT WORLD_RING
  const int* theirs = static_cast<const int*>(ncclGetPeerPointer(window, 0, peer));
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
    // EXPECT WORLD_RING NO_BARRIER
    out[i] = theirs[i];
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  CHECK(ncclCommQueryProperties(job.comm, &properties));
  const int team_size = job.ranks / properties.nLsaTeams;
  Buffer<int> block = allocate<int>(job, kInts);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 1;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  pull<<<1, kThreads, 0, job.stream>>>(dev, block.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kInts);
  CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  int first = job.rank - job.rank % team_size;
  int next = first + (job.rank + 1 - first) % team_size;
  bool good = true;
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(next, 0, i, 0);

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, block);
  return finish(job, good);
}
