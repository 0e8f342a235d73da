// CORPUS run=2,4
// Each round counts arrivals from zero: the signal is reset between the last arrival of a round
// and the exit barrier, which lets nobody start the next round before that.
//
// DEFECT RESET_AFTER_BARRIER signal_reset_race: a peer's next signal may come before the reset
// DEFECT NO_RESET missing_wait: arrivals of the first round satisfy the second round's wait
// DEFECT MIXED_OPS signal_mixed_ops: Inc and Add on one signal with no reset between them
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 3, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
#if defined(DEFECT_MIXED_OPS)
    if (world.rank == 0) {
      // EXPECT MIXED_OPS
      gin.put(world, peer, recv, 0, send, peer * bytes, bytes, ncclGin_WeakSignalAdd{0, 1});
      continue;
    }
#endif
    const size_t block = world.rank * bytes;
    // EXPECT MIXED_OPS RESET_AFTER_BARRIER
    gin.put(world, peer, recv, block, send, peer * bytes, bytes, ncclGin_WeakSignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, world.nRanks);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) {
    // EXPECT NO_RESET
    out[i] = in[i];
  }
  gin.flush(ncclCoopCta());
#if !defined(DEFECT_RESET_AFTER_BARRIER) && !defined(DEFECT_NO_RESET)
  if (threadIdx.x == 0) gin.resetSignal(0);
#endif
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#if defined(DEFECT_RESET_AFTER_BARRIER)
  // EXPECT RESET_AFTER_BARRIER
  if (threadIdx.x == 0) gin.resetSignal(0);
#endif
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
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
