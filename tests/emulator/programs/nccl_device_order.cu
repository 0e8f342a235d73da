// What orders memory between ranks on the device, in one kernel for each rule. The first argument
// takes one rule away.
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <string>

#include "expect.h"

constexpr int kInts = 32;

// The entry barrier only acquires: what came before the kernel is released by its start.
__global__ void write_to_next(ncclDevComm dev, ncclWindow_t window, bool barrier) {
  ncclTeam lsa = ncclTeamLsa(dev);
  ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  if (barrier) bar.sync(ncclCoopCta(), cuda::memory_order_acquire);
  int* next = static_cast<int*>(ncclGetLsaPointer(window, 0, (lsa.rank + 1) % lsa.nRanks));
  if (threadIdx.x < kInts) next[threadIdx.x] += 1 + lsa.rank;  // EXPECT no_entry
  bar.sync(ncclCoopCta(), cuda::memory_order_release);
}

// A put, and stores to the peer before it, are announced by one signal.
__global__ void announce(ncclDevComm dev, ncclWindow_t window, int* out, bool system) {
  ncclTeam world = ncclTeamWorld(dev);
  const int next = (world.rank + 1) % world.nRanks;
  ncclGin gin(dev, 0);
  ncclLsaBarrierSession<ncclCoopCta> bar(ncclCoopCta(), dev, ncclTeamTagLsa(), 0);
  bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  int* remote = static_cast<int*>(ncclGetLsaPointer(window, 0, next));
  if (threadIdx.x < kInts) remote[threadIdx.x] = 100 * world.rank + threadIdx.x;
  if (system) __threadfence_system();
  gin.signal(world, next, ncclGin_StrongSignalInc{0}, ncclCoopCta());  // EXPECT device_scope
  gin.waitSignal(ncclCoopCta(), 0, 1);
  int* in = static_cast<int*>(ncclGetLocalPointer(window, 0));
  if (threadIdx.x < kInts) out[threadIdx.x] = in[threadIdx.x];
  bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

// A counter says that the source was read; a get arrives with its flush.
__global__ void reuse(ncclDevComm dev, ncclWindow_t window, int* out, bool counted, bool flushed) {
  ncclTeam world = ncclTeamWorld(dev);
  const int next = (world.rank + 1) % world.nRanks;
  const int previous = (world.rank + world.nRanks - 1) % world.nRanks;
  ncclGin gin(dev, 0);
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  const size_t block = kInts * sizeof(int);
  if (threadIdx.x < kInts) mine[threadIdx.x] = world.rank;
  __syncthreads();
  gin.put(world, next, window, block, window, 0, block, ncclGin_WeakSignalInc{1},
          ncclGin_WeakCounterInc{0}, ncclCoopCta());
  if (counted) gin.waitCounter(ncclCoopCta(), 0, 1);
  if (threadIdx.x < kInts) mine[threadIdx.x] = -1;  // EXPECT uncounted
  gin.waitSignal(ncclCoopCta(), 1, 1);
  ncclGinBarrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  gin.get(world, previous, window, block, window, 2 * block, block, ncclCoopCta());
  if (flushed) gin.flush(ncclCoopCta());
  if (threadIdx.x < kInts) out[threadIdx.x] = mine[2 * kInts + threadIdx.x];  // EXPECT unflushed
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
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = reqs.worldGinBarrierCount = reqs.ginCounterCount = 1;
  reqs.ginSignalCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  EXPECT(ncclDevCommCreate(comm, &reqs, &dev) == ncclSuccess);
  int *out, host[kInts];
  const int previous = (rank + ranks - 1) % ranks;
  CUDA(cudaMalloc(&out, sizeof host));

  CUDA(cudaMemset(buffer, 0, 4096));
  write_to_next<<<1, 64>>>(dev, window, defect != "no_entry");
  CUDA(cudaMemcpy(host, buffer, sizeof host, cudaMemcpyDeviceToHost));
  for (int x : host) EXPECT(x == 1 + previous);
  MPI_Barrier(MPI_COMM_WORLD);

  announce<<<1, 64>>>(dev, window, out, defect != "device_scope");
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kInts; i++) EXPECT(host[i] == 100 * previous + i);
  MPI_Barrier(MPI_COMM_WORLD);

  reuse<<<1, 64>>>(dev, window, out, defect != "uncounted", defect != "unflushed");
  CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  const int before = (previous + ranks - 1) % ranks;
  if (defect.empty()) {
    for (int x : host) EXPECT(x == before);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CUDA(cudaFree(out));
  ncclDevCommDestroy(comm, &dev);
  ncclCommWindowDeregister(comm, window);
  ncclMemFree(buffer);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return defect.empty() && failures != 0;
}
