// CORPUS run=2,4 nccl=2.28.9
// CORPUS run=2,4,4/2 nccl=2.30.7
// CORPUS run=2,4 nccl=2.32.3
// Broadcast from rank 0 in one source for every NCCL version, chosen by NCCL_VERSION_CODE: old
// spelling of signals and fences before 2.30, explicit connection type from 2.29 on.
//
// DEFECT ROOT_ONLY_FLUSH missing_wait: the root flushed, but a receiver did not wait
#include "harness.h"

#include <nccl_device.h>

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Arrived = ncclGin_WeakSignalInc;
#define NO_FENCE ncclGinFenceLevel::None
#else
using Arrived = ncclGin_SignalInc;
#define NO_FENCE ncclGinFenceLevel::Relaxed
#endif

constexpr int kInts = 48, kRounds = 2, kThreads = 32;

__global__ void fill(int* data, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) data[i] = value(0, 0, i, round);
}

__global__ void broadcast(ncclDevComm dev, ncclWindow_t data, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  uint64_t before = gin.readSignal(0);
  ncclBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), ncclTeamTagWorld(), gin, 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, NO_FENCE);
  if (world.rank == 0) {
    for (int peer = 1 + threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
      gin.put(world, peer, data, 0, data, 0, kInts * sizeof(int), Arrived{0});
    }
    gin.flush(ncclCoopCta());
  } else {
#if !defined(DEFECT_ROOT_ONLY_FLUSH)
    gin.waitSignal(ncclCoopCta(), 0, before + 1);
#endif
  }
  const int* in = static_cast<const int*>(ncclGetLocalPointer(data, 0));
  // EXPECT ROOT_ONLY_FLUSH
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> data = allocate<int>(job, kInts);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  reqs.barrierCount = 1;
#else
  ncclDevCommRequirements reqs{};
  reqs.barrierCount = 1;
#endif
  reqs.ginSignalCount = 1;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(kInts);
  for (int round = 0; round < kRounds; ++round) {
    if (job.rank == 0) fill<<<1, kThreads, 0, job.stream>>>(data.data, round);
    broadcast<<<1, kThreads, 0, job.stream>>>(dev, data.window, out);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(job.stream));
    CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kInts; ++i) good = good && got[i] == value(0, 0, i, round);
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, data);
  return finish(job, good);
}
