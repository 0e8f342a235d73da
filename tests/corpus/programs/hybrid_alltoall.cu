// CORPUS run=2,4,4/2,2/1
// All-to-all that stores to peers of the same LSA team and puts to all others, between two hybrid
// barriers. Run with one team, with several, and with teams of one.
//
// DEFECT NO_FENCE missing_wait run=4/2: the exit barrier does not settle the puts
// DEFECT ALL_LSA peer_not_in_lsa_team run=4/2: takes every peer for a member of the LSA team
// DEFECT RELAXED_EXIT data_race: the exit barrier orders no memory
// DEFECT NO_ENTRY_BARRIER data_race: writes while the last round is read
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 2, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev), lsa = ncclTeamLsa(dev);
  ncclBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), ncclTeamTagWorld(), gin, 0);
#if !defined(DEFECT_NO_ENTRY_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
  const int* from = static_cast<const int*>(ncclGetLocalPointer(send, 0));
  const size_t bytes = kInts * sizeof(int);
  for (int peer = 0; peer < world.nRanks; ++peer) {
#if defined(DEFECT_ALL_LSA)
    bool near = true;
#else
    bool near = ncclTeamRankIsMember(lsa, world, peer);
#endif
    if (near) {
      int member = ncclTeamRankToTeam(lsa, world, peer);
      // EXPECT ALL_LSA
      void* block = ncclGetLsaPointer(recv, world.rank * bytes, member);
      for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
        // EXPECT NO_ENTRY_BARRIER
        static_cast<int*>(block)[i] = from[peer * kInts + i];
      }
    } else if (threadIdx.x == 0) {
      gin.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes);
    }
  }
#if defined(DEFECT_NO_FENCE)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#elif defined(DEFECT_RELAXED_EXIT)
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Put);
#else
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) {
    // EXPECT NO_FENCE RELAXED_EXIT NO_ENTRY_BARRIER
    out[i] = in[i];
  }
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.barrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, round);
    all_to_all<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < job.ranks * kInts; ++i) {
      good = good && got[i] == value(i / kInts, job.rank, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
