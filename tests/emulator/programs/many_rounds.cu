// Two ranks send each other many small messages, kernel after kernel; the argument says how many
// kernels. The hosts meet after each: by then all know what arrived.
#include "harness.h"

#include <nccl_device.h>

constexpr int kThreads = 64, kPuts = 512, kBytes = 8;

__global__ void exchange(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv) {
  ncclGin gin(dev, 0);
  const ncclTeam world = ncclTeamWorld(dev);
  const uint64_t before = gin.readSignal(0);
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  for (int p = threadIdx.x; p < kPuts; p += kThreads) {
    gin.put(world, 1 - world.rank, recv, p * kBytes, send, p * kBytes, kBytes,
            ncclGin_WeakSignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, before + kPuts);
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  Buffer<char> send = allocate<char>(job, kPuts * kBytes);
  Buffer<char> recv = allocate<char>(job, kPuts * kBytes);
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));
  CHECK(cudaMemset(send.data, 1, kPuts * kBytes));
  for (int round = 0; round < rounds; ++round) {
    exchange<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window);
    CHECK(cudaStreamSynchronize(job.stream));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  release(job, recv);
  release(job, send);
  return finish(job, true);
}
