// CORPUS run=2,4,4/2 nccl=2.28.9
// All-to-all in the spelling of NCCL 2.28: requirements without an initializer, hybrid barrier,
// SignalInc (always strong there) and the relaxed fence.
//
// DEFECT MISSING_WAIT missing_wait: nothing orders the read after the peers' puts
// DEFECT NO_ENTRY_BARRIER destination_overwrite: peers put while the last round is read
// DEFECT NO_FLUSH source_reuse: the next round fills the source while puts may still read it
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kRounds = 3, kThreads = 64;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    // EXPECT NO_FLUSH
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out,
                           int round) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
#if !defined(DEFECT_NO_ENTRY_BARRIER)
  ncclBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), ncclTeamTagWorld(), gin, blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
#endif
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    // EXPECT NO_ENTRY_BARRIER
    gin.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes, ncclGin_SignalInc{0});
  }
#if !defined(DEFECT_MISSING_WAIT)
  gin.waitSignal(ncclCoopCta(), 0, uint64_t(round + 1) * world.nRanks);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) {
    // EXPECT MISSING_WAIT NO_ENTRY_BARRIER
    out[i] = in[i];
  }
#if !defined(DEFECT_NO_FLUSH)
  gin.flush(ncclCoopCta());
#endif
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs{};
  reqs.ginSignalCount = 1;
  reqs.lsaBarrierCount = 1;
  reqs.railGinBarrierCount = 1;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, round);
    all_to_all<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out, round);
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
