// CORPUS run=2,4
// A warm-up sends the same signals as the rounds that follow, so that these must count them too.
// Each block gets from its peers, and each round's wait asks for all signals so far.
//
// DEFECT FORGETS_WARMUP early_wait: the first rounds' waits are met by the warm-up's signals
// DEFECT SAME_THRESHOLD early_wait: each round waits for what the first one waited for
// DEFECT ONE_SIGNAL early_wait: greetings raise the signal of the data, so that they meet its wait
// DEFECT KEEPS_VALUE early_wait: a wait relative to what the signal had asks for too few
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kRounds = 3, kThreads = 32;
constexpr unsigned kData = 0, kHello = 1;

__global__ void fill(int* send, int rank, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, 0, i, round);
}

// Opens the connections: nobody waits for it here.
__global__ void warm_up(ncclDevComm dev) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.signal(world, peer, ncclGin_WeakSignalInc{kData});
  }
}

__global__ void greet(ncclDevComm dev) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
#if defined(DEFECT_ONE_SIGNAL)
  const unsigned signal = kData;
#else
  const unsigned signal = kHello;
#endif
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.signal(world, peer, ncclGin_WeakSignalInc{signal});
  }
  if (signal == kHello) gin.waitSignal(ncclCoopCta(), kHello, world.nRanks);
}

__global__ void all_gather(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out,
                           int round) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  const int n = world.nRanks;
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < n; peer += blockDim.x) {
    gin.put(world, peer, recv, world.rank * bytes, send, 0, bytes, ncclGin_WeakSignalInc{kData});
  }
#if defined(DEFECT_FORGETS_WARMUP) || defined(DEFECT_ONE_SIGNAL)
  const int all = (round + 1) * n;
#elif defined(DEFECT_SAME_THRESHOLD)
  const int all = 2 * n;
#elif defined(DEFECT_KEEPS_VALUE)
  const int all = (round + 2) * n - 1;
#else
  const int all = (round + 2) * n;
#endif
  // EXPECT FORGETS_WARMUP SAME_THRESHOLD ONE_SIGNAL KEEPS_VALUE
  gin.waitSignal(ncclCoopCta(), kData, all);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < n * kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 2;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

#if !defined(DEFECT_ONE_SIGNAL)
  warm_up<<<1, kThreads, 0, job.stream>>>(dev);
#endif
  greet<<<1, kThreads, 0, job.stream>>>(dev);
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
