// The device API in the spelling of the version that it is built for. GIN resources are asked for in
// the way that the version wants; the first argument breaks that.
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstring>
#include <string>

#include "expect.h"

__global__ void exchange(ncclDevComm dev, ncclWindow_t window, int* out) {
  ncclCoopCta cta;
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
  ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, ncclTeamTagWorld(), 0);
  bar.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#elif NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
  ncclBarrierSession<ncclCoopCta> bar(cta, ncclTeamTagWorld(), gin, 0);
  bar.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
#else
  ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, world, dev.railGinBarrier, 0);
  bar.sync(cta, cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
#endif
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
    gin.putValue(world, peer, window, world.rank * 4, 7 * world.rank, ncclGin_WeakSignalInc{0});
#else
    gin.putValue(world, peer, window, world.rank * 4, 7 * world.rank, ncclGin_SignalInc{0});
#endif
  }
  gin.waitSignal(cta, 0, world.nRanks);
  int* in = static_cast<int*>(ncclGetLocalPointer(window, 0));
  if (threadIdx.x < world.nRanks) out[threadIdx.x] = in[threadIdx.x];
}

int main(int argc, char** argv) {
  const std::string defect = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  cudaSetDevice(rank);
  ncclComm_t comm;
  EXPECT(ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess);
  void* buffer;
  ncclWindow_t window;
  EXPECT(ncclMemAlloc(&buffer, 4096) == ncclSuccess);
  EXPECT(ncclCommWindowRegister(comm, buffer, 4096, &window, NCCL_WIN_COLL_SYMMETRIC) ==
         ncclSuccess);

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  if (defect == "memset") std::memset(&reqs, 0, sizeof reqs);
  reqs.barrierCount = 1;
  reqs.ginConnectionType = defect == "none" ? NCCL_GIN_CONNECTION_NONE : NCCL_GIN_CONNECTION_FULL;
#else
  ncclDevCommRequirements reqs{};
  reqs.railGinBarrierCount = 1;
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
  reqs.worldGinBarrierCount = 1;
#endif
  reqs.ginSignalCount = 1;
  ncclDevComm dev;
  ncclResult_t made = ncclDevCommCreate(comm, &reqs, &dev);  // EXPECT memset none
  if (made != ncclSuccess) return 4;
  EXPECT(dev.rank == rank && dev.nRanks == ranks && dev.ginContextCount >= 1);

  int *out, host[64] = {};
  CUDA(cudaMalloc(&out, sizeof host));
  exchange<<<1, 64>>>(dev, window, out);
  CUDA(cudaMemcpy(host, out, ranks * sizeof(int), cudaMemcpyDeviceToHost));
  for (int r = 0; r < ranks; r++) EXPECT(host[r] == 7 * r);
  CUDA(cudaFree(out));
  ncclDevCommDestroy(comm, &dev);
  ncclCommWindowDeregister(comm, window);
  ncclMemFree(buffer);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return failures != 0;
}
