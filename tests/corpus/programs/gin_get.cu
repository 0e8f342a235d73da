// CORPUS run=2,4
// All-to-all by get: each rank fetches its block from every peer, flushes, and reads.
//
// DEFECT NO_FLUSH missing_wait: a get has landed only after a flush
// DEFECT NO_ENTRY_BARRIER data_race: fetches while the peer may still be filling its block
// DEFECT NO_EXIT_BARRIER data_race: the next round's fill overwrites what a peer still fetches
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 3, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    // EXPECT NO_ENTRY_BARRIER NO_EXIT_BARRIER
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
#if !defined(DEFECT_NO_ENTRY_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    // EXPECT NO_ENTRY_BARRIER NO_EXIT_BARRIER
    gin.get(world, peer, send, world.rank * bytes, recv, peer * bytes, bytes);
  }
#if !defined(DEFECT_NO_FLUSH)
  gin.flush(ncclCoopCta());
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT NO_FLUSH
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) out[i] = in[i];
#if !defined(DEFECT_NO_EXIT_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.worldGinBarrierCount = 1;
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
