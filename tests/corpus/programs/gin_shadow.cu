// CORPUS run=2,4
// The expected count lives in the signal's shadow, which grows with each round.
//
// DEFECT SHADOW_STAYS missing_wait: the shadow is behind, so later waits return at once
// DEFECT EVERY_THREAD deadlock: each thread increases the shadow, so the wait asks for too much
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 3, kThreads = 32;

__global__ void fill(int* send, int rank, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, 0, i, round);
}

// All-gather: everybody's block to everybody.
__global__ void all_gather(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out,
                           int round) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, recv, world.rank * bytes, send, 0, bytes, ncclGin_WeakSignalInc{0});
  }
#if defined(DEFECT_EVERY_THREAD)
  gin.increaseSignalShadow(0, world.nRanks);
#elif defined(DEFECT_SHADOW_STAYS)
  if (threadIdx.x == 0 && round == 0) gin.increaseSignalShadow(0, world.nRanks);
#else
  if (threadIdx.x == 0) gin.increaseSignalShadow(0, world.nRanks);
#endif
  // EXPECT EVERY_THREAD
  gin.waitSignalMeetShadow(ncclCoopCta(), 0);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT SHADOW_STAYS
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, round);
    all_gather<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out, round);
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
