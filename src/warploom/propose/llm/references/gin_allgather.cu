// A whole program that gathers from the device by GIN: put with a signal, wait, flush.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <vector>

constexpr int kInts = 64, kRounds = 3, kThreads = 64;

// One block. Every rank puts its block into every rank's `recv`, its own included.
__global__ void allGather(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  // Nobody may put into a `recv` that its owner still reads: all ranks meet first. The barrier
  // counts arrivals; it needs no fence, because no put of this kernel has begun.
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);

  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, recv, world.rank * bytes, send, 0, bytes, ncclGin_SignalInc{0});
  }
  // Signals only grow. The shadow says how many have been waited for in all rounds until now, so
  // that this wait cannot be met by what arrived in an earlier round. One thread moves it.
  if (threadIdx.x == 0) gin.increaseSignalShadow(0, world.nRanks);
  gin.waitSignalMeetShadow(ncclCoopCta(), 0);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());  // our own puts have read `send`: it may be written again
}

__global__ void fill(int* send, int rank, int round) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = (rank * 131 + i) * 17 + round;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  // Memory of windows comes from ncclMemAlloc; every rank registers in the same order.
  int *send, *recv, *out;
  ncclWindow_t sendWindow, recvWindow;
  ncclMemAlloc(reinterpret_cast<void**>(&send), kInts * sizeof(int));
  ncclMemAlloc(reinterpret_cast<void**>(&recv), ranks * kInts * sizeof(int));
  ncclCommWindowRegister(comm, send, kInts * sizeof(int), &sendWindow, NCCL_WIN_COLL_SYMMETRIC);
  ncclCommWindowRegister(comm, recv, ranks * kInts * sizeof(int), &recvWindow,
                         NCCL_WIN_COLL_SYMMETRIC);
  cudaMalloc(&out, ranks * kInts * sizeof(int));

  // Ask for what the kernels use: one signal, one world barrier, connections.
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  ncclDevCommCreate(comm, &reqs, &dev);

  bool good = true;
  std::vector<int> got(ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, stream>>>(send, rank, round);
    allGather<<<1, kThreads, 0, stream>>>(dev, sendWindow, recvWindow, out);
    cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < ranks * kInts; ++i) {
      good = good && got[i] == (i / kInts * 131 + i % kInts) * 17 + round;
    }
  }
  if (rank == 0) printf("%s\n", good ? "right" : "wrong");

  ncclDevCommDestroy(comm, &dev);
  cudaFree(out);
  ncclCommWindowDeregister(comm, recvWindow);
  ncclCommWindowDeregister(comm, sendWindow);
  ncclMemFree(recv);
  ncclMemFree(send);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return good ? 0 : 1;
}
