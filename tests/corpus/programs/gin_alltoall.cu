// CORPUS run=2,4,4/2
// All-to-all over GIN, one CTA, weak signals, a fresh payload in each round.
//
// DEFECT MISSING_WAIT missing_wait: nothing orders the read after the peers' puts
// DEFECT LOW_THRESHOLD missing_wait: waits for one arrival less than there are senders
// DEFECT STALE_THRESHOLD missing_wait: from the second round on, earlier arrivals satisfy the wait
// DEFECT RELAXED_WAIT missing_wait: the signal is observed, but not with acquire
// DEFECT FLUSH_ONLY missing_wait: a flush is local and says nothing about what peers sent here
// DEFECT HIGH_THRESHOLD deadlock: waits for one arrival more than there are senders
// DEFECT LATE_BASELINE deadlock: the entry barrier lets peers signal before the baseline is read
// DEFECT WRONG_SLOT deadlock: waits for a signal that nobody sends
// DEFECT WRONG_CONTEXT deadlock: signals belong to a context, and the puts use another one
// DEFECT NO_FLUSH source_reuse: the next round fills the source while puts may still read it
// DEFECT WRONG_OFFSET overlapping_puts: all peers put to the same block of a receiver
// DEFECT PAST_END window_range: the last rank's block lies beyond the receive window
// DEFECT PEER_PAST_END peer_out_of_range: peers are numbered from 0
// DEFECT SIGNAL_INDEX signal_index: one signal was requested, so its index is 0
// DEFECT BARRIER_INDEX barrier_index: one barrier was requested, so its index is 0
// DEFECT CONTEXT_INDEX context_index: there are not that many contexts
// DEFECT PARTIAL_WAIT partial_coop: half of the CTA calls a wait of the whole CTA
// DEFECT PARTIAL_BARRIER partial_coop: half of the CTA calls a barrier of it all
// DEFECT BLOCK_2D coop_cta_2d: ncclCoopCta knows threadIdx.x only, so two threads have rank 0
// DEFECT NO_CONNECTION gin_not_enabled: GIN resources are requested without a connection type
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kRounds = 3, kThreads = 64;

#if defined(DEFECT_SIGNAL_INDEX)
constexpr ncclGinSignal_t kArrived = 1;
#else
constexpr ncclGinSignal_t kArrived = 0;
#endif
#if defined(DEFECT_BARRIER_INDEX)
constexpr int kBarrier = 1;
#else
constexpr int kBarrier = 0;
#endif
#if defined(DEFECT_CONTEXT_INDEX)
constexpr int kContext = 99;
#else
constexpr int kContext = 0;
#endif

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    // EXPECT NO_FLUSH
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  // EXPECT CONTEXT_INDEX
  ncclGin gin(dev, kContext);
  ncclTeam world = ncclTeamWorld(dev);
  // EXPECT BARRIER_INDEX BLOCK_2D
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), kBarrier);
  // EXPECT SIGNAL_INDEX
  uint64_t before = gin.readSignal(kArrived);
  // When all ranks are here, they have read what the last round brought.
#if defined(DEFECT_PARTIAL_BARRIER)
  if (threadIdx.x < kThreads / 2)
#endif
    // EXPECT PARTIAL_BARRIER BLOCK_2D
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#if defined(DEFECT_LATE_BASELINE)
  before = gin.readSignal(kArrived);
#elif defined(DEFECT_STALE_THRESHOLD)
  before = 0;
#endif

  for (int p = threadIdx.x; p < world.nRanks; p += blockDim.x) {
    int peer = p;
    int block = world.rank;
#if defined(DEFECT_PEER_PAST_END)
    peer = p + 1;
#elif defined(DEFECT_WRONG_OFFSET)
    block = peer;
#elif defined(DEFECT_PAST_END)
    block = world.rank + 1;
#endif
#if defined(DEFECT_WRONG_CONTEXT)
    ncclGin other(dev, 1);
    other.put(world, peer, recv, block * kInts * sizeof(int), send, p * kInts * sizeof(int),
              kInts * sizeof(int), ncclGin_WeakSignalInc{kArrived});
#else
    // EXPECT PEER_PAST_END WRONG_OFFSET PAST_END
    gin.put(world, peer, recv, block * kInts * sizeof(int), send, p * kInts * sizeof(int),
            kInts * sizeof(int), ncclGin_WeakSignalInc{kArrived});
#endif
  }

  uint64_t expected = before + world.nRanks;
#if defined(DEFECT_LOW_THRESHOLD)
  expected -= 1;
#elif defined(DEFECT_HIGH_THRESHOLD)
  expected += 1;
#endif
#if defined(DEFECT_RELAXED_WAIT)
  gin.waitSignal(ncclCoopCta(), kArrived, expected, 64, cuda::memory_order_relaxed);
#elif defined(DEFECT_PARTIAL_WAIT)
  // EXPECT PARTIAL_WAIT
  if (threadIdx.x < kThreads / 2) gin.waitSignal(ncclCoopCta(), kArrived, expected);
#elif defined(DEFECT_WRONG_SLOT)
  // EXPECT WRONG_SLOT
  gin.waitSignal(ncclCoopCta(), kArrived + 1, expected);
#elif !defined(DEFECT_MISSING_WAIT) && !defined(DEFECT_FLUSH_ONLY)
  // EXPECT HIGH_THRESHOLD LATE_BASELINE WRONG_CONTEXT PARTIAL_BARRIER
  gin.waitSignal(ncclCoopCta(), kArrived, expected);
#endif
#if defined(DEFECT_FLUSH_ONLY)
  gin.flush(ncclCoopCta());
#endif

  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) {
    // EXPECT MISSING_WAIT LOW_THRESHOLD STALE_THRESHOLD RELAXED_WAIT FLUSH_ONLY
    out[i] = in[i];
  }
#if !defined(DEFECT_NO_FLUSH)
  // EXPECT PARTIAL_WAIT
  gin.flush(ncclCoopCta());  // the source may be filled again
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
#if !defined(DEFECT_NO_CONNECTION)
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#endif
#if defined(DEFECT_WRONG_SLOT)
  reqs.ginSignalCount = 2;
#endif
  ncclDevComm dev;
  // EXPECT NO_CONNECTION
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  dim3 threads(kThreads);
#if defined(DEFECT_BLOCK_2D)
  threads = dim3(kThreads / 2, 2);
#endif
  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, round);
    all_to_all<<<1, threads, 0, job.stream>>>(dev, send.window, recv.window, out);
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
