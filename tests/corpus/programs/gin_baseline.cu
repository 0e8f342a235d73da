// CORPUS run=2,4
// Two CTAs share the work: one sends to all ranks, the other one waits for what they send. Signals
// are never reset, so the count is taken from a baseline: the sender reads it, before the barrier
// that lets the others send, and hands it to the CTA that waits.
//
// DEFECT OWN_BASELINE deadlock: the CTA that waits reads it, and takes no part in the barrier
// DEFECT FIRST_WAITS deadlock: the same, where the first CTA waits and the last one sends
// DEFECT AFTER_BARRIER deadlock: the sender reads it when others may have sent
// DEFECT NO_BARRIER deadlock: nothing holds back the others before it is read
#include "harness.h"

#include <nccl_device.h>

#include <cuda/atomic>

constexpr int kInts = 16, kRounds = 2, kThreads = 32;
#if defined(DEFECT_FIRST_WAITS)
constexpr unsigned kSender = 1;
#else
constexpr unsigned kSender = 0;
#endif

struct Handover {
  uint64_t baseline;
  int round;  // of the baseline
};

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__device__ void tell(Handover* handover, uint64_t baseline, int round) {
  if (threadIdx.x != 0) return;
  handover->baseline = baseline;
  cuda::atomic_ref<int, cuda::thread_scope_device> told(handover->round);
  told.store(round, cuda::memory_order_release);
}

__device__ void send_to_all(ncclGin gin, ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv,
                            Handover* handover, int round) {
  ncclTeam world = ncclTeamWorld(dev);
#if !defined(DEFECT_AFTER_BARRIER)
  tell(handover, gin.readSignal(0), round);
#endif
#if !defined(DEFECT_NO_BARRIER)
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
#if defined(DEFECT_AFTER_BARRIER)
  tell(handover, gin.readSignal(0), round);
#endif
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes,
            ncclGin_WeakSignalInc{0});
  }
  gin.flush(ncclCoopCta());
}

__global__ void exchange(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out,
                         Handover* handover, int round) {
  ncclGin gin(dev, 0);
  if (blockIdx.x == kSender) {
    send_to_all(gin, dev, send, recv, handover, round);
    return;
  }
  __shared__ uint64_t before;
  if (threadIdx.x == 0) {
#if defined(DEFECT_OWN_BASELINE) || defined(DEFECT_FIRST_WAITS)
    before = gin.readSignal(0);
#else
    cuda::atomic_ref<int, cuda::thread_scope_device> told(handover->round);
    while (told.load(cuda::memory_order_acquire) != round) {
    }
    before = handover->baseline;
#endif
  }
  __syncthreads();
  // EXPECT OWN_BASELINE FIRST_WAITS AFTER_BARRIER NO_BARRIER
  gin.waitSignal(ncclCoopCta(), 0, before + ncclTeamWorld(dev).nRanks);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < ncclTeamWorld(dev).nRanks * kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  Handover* handover;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));
  CHECK(cudaMalloc(&handover, sizeof(Handover)));
  CHECK(cudaMemset(handover, 0, sizeof(Handover)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 1; round <= kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, round);
    exchange<<<2, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out, handover, round);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < job.ranks * kInts; ++i) {
      good = good && got[i] == value(i / kInts, job.rank, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(handover));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
