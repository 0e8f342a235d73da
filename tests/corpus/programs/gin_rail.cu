// CORPUS run=4/2,2/1
// All-gather along the rail only: ranks with the same place in their LSA team exchange blocks over
// rail connections, and a rail barrier starts each round.
//
// DEFECT WORLD_BARRIER barrier_team: the world team on a handle made for the rail
// DEFECT WORLD_PEER peer_off_rail: there is no connection to a peer that is not on the rail
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 2, kThreads = 32;

__global__ void fill(int* send, int rank, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, 0, i, round);
}

__global__ void gather(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out, int round) {
  ncclGin gin(dev, 0);
  ncclTeam rail = ncclTeamRail(dev);
#if defined(DEFECT_WORLD_BARRIER)
  ncclTeam team = ncclTeamWorld(dev);
#else
  ncclTeam team = rail;
#endif
  ncclCoopCta coop;
  // EXPECT WORLD_BARRIER
  ncclGinBarrierSession<ncclCoopCta> barrier(coop, gin, team, dev.railGinBarrier, 0);
  // EXPECT WORLD_BARRIER
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < rail.nRanks; peer += blockDim.x) {
#if defined(DEFECT_WORLD_PEER)
    // EXPECT WORLD_PEER
    gin.put(ncclTeamWorld(dev), peer, recv, rail.rank * bytes, send, 0, bytes,
            ncclGin_WeakSignalInc{0});
#else
    gin.put(rail, peer, recv, rail.rank * bytes, send, 0, bytes, ncclGin_WeakSignalInc{0});
#endif
  }
  gin.waitSignal(ncclCoopCta(), 0, uint64_t(round + 1) * rail.nRanks);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < rail.nRanks * kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  CHECK(ncclCommQueryProperties(job.comm, &properties));
  const int teams = properties.nLsaTeams, team_size = job.ranks / teams;
  Buffer<int> send = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, teams * kInts);
  int* out;
  CHECK(cudaMalloc(&out, teams * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.railGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_RAIL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(teams * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, round);
    gather<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out, round);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < teams * kInts; ++i) {
      int from = i / kInts * team_size + job.rank % team_size;
      good = good && got[i] == value(from, 0, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
