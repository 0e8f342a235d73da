// CORPUS run=2,4
// Rounds of an all-gather that use all that GIN counts with: arrivals against a shadow, bytes on a
// second context in a signal that is reset each round, a baseline, and a counter for the source.
//
// DEFECT SHADOW_STAYS missing_wait: the shadow grows in the first round only
// DEFECT LATE_BASELINE deadlock: the baseline is read when peers may have signalled already
// DEFECT EARLY_RESET signal_reset_race: resets before the bytes of this round have been counted
// DEFECT MIXED signal_mixed_ops: the last rank tells by an Inc where the others use an Add
// DEFECT NO_COUNTERS counter_index: the put counts on a counter that was never asked for
// DEFECT THIRD_CONTEXT context_index: there are two contexts, the third is number 2
// DEFECT SOURCE_EARLY source_reuse: clears the block before the counter says that it has left
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <vector>

#define DO(x)                                                          \
  do {                                                                 \
    const auto result = (x);                                           \
    if (static_cast<int>(result) != 0) {                               \
      std::fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, result); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (false)

namespace {

constexpr int kBlock = 16, kRounds = 3;
constexpr ncclGinSignal_t kArrived = 0, kBytes = 1, kReady = 2;
constexpr unsigned kSize = kBlock * sizeof(int);

__host__ __device__ int element(int rank, int i, int round) { return rank * 100 + i + round * 7; }

__global__ void gather(ncclDevComm dev, ncclWindow_t win, int* out, int round) {
  ncclCoopCta cta;
  const ncclTeam world = ncclTeamWorld(dev);
#if defined(DEFECT_THIRD_CONTEXT)
  const int second = 2;
#else
  const int second = 1;
#endif
  ncclGin data(dev, 0);
  // EXPECT THIRD_CONTEXT
  ncclGin control(dev, second);
  int* mine = static_cast<int*>(ncclGetLocalPointer(win, 0));
#if !defined(DEFECT_LATE_BASELINE)
  const uint64_t before = data.readSignal(kReady);
#endif
  ncclGinBarrier(cta, data, ncclTeamTagWorld(), 0, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#if defined(DEFECT_LATE_BASELINE)
  const uint64_t before = data.readSignal(kReady);
#endif
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    data.signal(world, peer, ncclGin_WeakSignalInc{kReady});
  }
  // EXPECT LATE_BASELINE
  data.waitSignal(cta, kReady, before + world.nRanks);

  if (threadIdx.x < kBlock) mine[threadIdx.x] = element(world.rank, threadIdx.x, round);
  cta.sync();
#if defined(DEFECT_EARLY_RESET)
  // EXPECT EARLY_RESET
  if (threadIdx.x == 0) control.resetSignal(kBytes);
  cta.sync();
#endif
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    const size_t place = kSize * (1 + world.rank);
    // EXPECT NO_COUNTERS
    data.put(world, peer, win, place, win, 0, kSize, ncclGin_WeakSignalInc{kArrived}, ncclGin_CounterInc{0});
#if defined(DEFECT_MIXED)
    if (world.rank == world.nRanks - 1) {
      // EXPECT MIXED
      control.signal(world, peer, ncclGin_WeakSignalInc{kBytes});
      continue;
    }
#endif
    // EXPECT EARLY_RESET MIXED
    control.signal(world, peer, ncclGin_WeakSignalAdd{kBytes, kSize});
  }
#if defined(DEFECT_SHADOW_STAYS)
  if (threadIdx.x == 0 && round == 0) data.increaseSignalShadow(kArrived, world.nRanks);
#else
  if (threadIdx.x == 0) data.increaseSignalShadow(kArrived, world.nRanks);
#endif
  cta.sync();
  data.waitSignalMeetShadow(cta, kArrived);
#if defined(DEFECT_MIXED)
  control.waitSignal(cta, kBytes, uint64_t(kSize) * (world.nRanks - 1) + 1);
#else
  control.waitSignal(cta, kBytes, uint64_t(kSize) * world.nRanks);
#endif
#if !defined(DEFECT_EARLY_RESET)
  // EXPECT EARLY_RESET
  if (threadIdx.x == 0) control.resetSignal(kBytes);
#endif
  for (int i = threadIdx.x; i < world.nRanks * kBlock; i += blockDim.x) {
    // EXPECT SHADOW_STAYS
    out[i] = mine[kBlock + i];
  }
#if !defined(DEFECT_SOURCE_EARLY)
  data.waitCounter(cta, 0, uint64_t(round + 1) * world.nRanks);
#endif
  // EXPECT SOURCE_EARLY
  if (threadIdx.x < kBlock) mine[threadIdx.x] = -1;
  ncclGinBarrier(cta, data, ncclTeamTagWorld(), 1, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  control.flush(cta);
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, ranks = 0, wrong = 0;
  DO(MPI_Init(&argc, &argv));
  DO(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  DO(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  DO(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) DO(ncclGetUniqueId(&id));
  DO(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  DO(ncclCommInitRank(&comm, ranks, id, rank));
  void* memory;
  int* out;
  ncclWindow_t win;
  DO(ncclMemAlloc(&memory, kSize * (1 + ranks)));
  DO(ncclCommWindowRegister(comm, memory, kSize * (1 + ranks), &win, NCCL_WIN_COLL_SYMMETRIC));
  DO(cudaMalloc(&out, kSize * ranks));
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginContextCount = 2;
  reqs.ginSignalCount = 3;
#if !defined(DEFECT_NO_COUNTERS)
  reqs.ginCounterCount = 1;
#endif
  reqs.worldGinBarrierCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  DO(ncclDevCommCreate(comm, &reqs, &dev));
  std::vector<int> got(ranks * kBlock);
  for (int round = 0; round < kRounds; ++round) {
    gather<<<1, 64>>>(dev, win, out, round);
    DO(cudaGetLastError());
    DO(cudaMemcpy(got.data(), out, kSize * ranks, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ranks * kBlock; ++i) wrong += got[i] != element(i / kBlock, i % kBlock, round);
  }
  DO(ncclDevCommDestroy(comm, &dev));
  DO(ncclCommWindowDeregister(comm, win));
  DO(ncclMemFree(memory));
  DO(cudaFree(out));
  DO(ncclCommDestroy(comm));
  DO(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (rank == 0) std::printf("%d elements differ\n", wrong);
  DO(MPI_Finalize());
  return wrong != 0;
}
