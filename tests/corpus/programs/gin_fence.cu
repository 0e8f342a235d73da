// CORPUS run=2,4,4/2
// No signals at all: a world barrier with a Put fence makes all puts visible.
//
// DEFECT NO_FENCE missing_wait: a barrier without a Put fence synchronizes, but settles no put
// DEFECT OTHER_CONTEXT missing_wait: the barrier's fence covers its own context only
// DEFECT DISABLED gin_not_enabled: neither a connection type nor any GIN resource was requested
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 2, kThreads = 64;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  // EXPECT DISABLED
  ncclGin gin(dev, 0);
#if defined(DEFECT_OTHER_CONTEXT)
  ncclGin mover(dev, 1);
#else
  ncclGin mover(dev, 0);
#endif
  ncclTeam world = ncclTeamWorld(dev);
#if !defined(DEFECT_DISABLED)
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    // EXPECT DISABLED
    mover.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes);
  }
#if defined(DEFECT_NO_FENCE)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#elif !defined(DEFECT_DISABLED)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) {
    // EXPECT NO_FENCE OTHER_CONTEXT
    out[i] = in[i];
  }
  mover.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#if !defined(DEFECT_DISABLED)
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#endif
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
