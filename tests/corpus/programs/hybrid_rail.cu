// CORPUS run=4/2,8/4,2/1,2
// All-gather in two steps where GIN connects rails only: blocks go along the rail, then each rank
// reads them from the members of its LSA team. One barrier session over the world serves both: it
// takes the LSA and the rail barrier.
//
// DEFECT NO_SECOND_STEP missing_wait run=4/2: reads a neighbor that may not have its blocks
// DEFECT NO_FENCE missing_wait run=4/2: the barrier does not settle the puts
// DEFECT OFF_RAIL peer_off_rail run=4/2: there is no connection to a peer that is not on the rail
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 2, kThreads = 32;
constexpr size_t kBytes = kInts * sizeof(int);

__global__ void fill(int* send, int rank, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, 0, i, round);
}

__global__ void gather(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclCoopCta cta;
  ncclGin gin(dev, 0);
  ncclTeam rail = ncclTeamRail(dev), lsa = ncclTeamLsa(dev);
  ncclBarrierSession<ncclCoopCta> barrier(cta, ncclTeamTagWorld(), gin, 0);
  barrier.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  for (int peer = threadIdx.x; peer < rail.nRanks; peer += blockDim.x) {
#if defined(DEFECT_OFF_RAIL)
    // EXPECT OFF_RAIL
    gin.put(ncclTeamWorld(dev), peer, recv, rail.rank * kBytes, send, 0, kBytes);
#else
    gin.put(rail, peer, recv, rail.rank * kBytes, send, 0, kBytes);
#endif
  }
#if defined(DEFECT_NO_FENCE)
  barrier.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#else
  barrier.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
#endif
  // This rank has its blocks; its neighbors have theirs when they have come here as well.
#if !defined(DEFECT_NO_SECOND_STEP)
  barrier.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
  for (int member = 0; member < lsa.nRanks; ++member) {
    const int* in = static_cast<const int*>(ncclGetLsaPointer(recv, 0, member));
    for (int i = threadIdx.x; i < rail.nRanks * kInts; i += blockDim.x) {
      int from = i / kInts * lsa.nRanks + member;
      // EXPECT NO_SECOND_STEP NO_FENCE
      out[from * kInts + i % kInts] = in[i];
    }
  }
  gin.flush(cta);
  barrier.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kBytes));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.barrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_RAIL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, round);
    gather<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < job.ranks * kInts; ++i) {
      good = good && got[i] == value(i / kInts, 0, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
