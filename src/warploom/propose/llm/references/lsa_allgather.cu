// A whole program that gathers from the device by loads from peers' memory (LSA), between two barriers.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <vector>

constexpr int kInts = 64, kRounds = 3, kThreads = 64, kBlocks = 2;

// Each block gathers its part, on a barrier of its own: block b uses barrier b.
__global__ void allGather(ncclDevComm dev, ncclWindow_t send, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  // What every rank wrote to its `send` before becomes visible to its peers.
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  int part = kInts / gridDim.x, first = blockIdx.x * part;
  for (int step = 0; step < lsa.nRanks; ++step) {
    int peer = (lsa.rank + step) % lsa.nRanks;  // not all ranks read from the same one
    const int* theirs = static_cast<const int*>(ncclGetLsaPointer(send, 0, peer));
    for (int i = first + threadIdx.x; i < first + part; i += blockDim.x) {
      out[peer * kInts + i] = theirs[i];
    }
  }
  // Nobody goes on to overwrite `send` while a peer still reads it.
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
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
  int *send, *out;
  ncclWindow_t sendWindow;
  ncclMemAlloc(reinterpret_cast<void**>(&send), kInts * sizeof(int));
  ncclCommWindowRegister(comm, send, kInts * sizeof(int), &sendWindow, NCCL_WIN_COLL_SYMMETRIC);
  cudaMalloc(&out, ranks * kInts * sizeof(int));

  // Ask for what the kernels use: a barrier for each block.
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = kBlocks;
  ncclDevComm dev;
  ncclDevCommCreate(comm, &reqs, &dev);

  bool good = true;
  std::vector<int> got(ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, stream>>>(send, rank, round);
    allGather<<<kBlocks, kThreads, 0, stream>>>(dev, sendWindow, out);
    cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < ranks * kInts; ++i) {
      good = good && got[i] == (i / kInts * 131 + i % kInts) * 17 + round;
    }
  }
  if (rank == 0) printf("%s\n", good ? "right" : "wrong");

  ncclDevCommDestroy(comm, &dev);
  cudaFree(out);
  ncclCommWindowDeregister(comm, sendWindow);
  ncclMemFree(send);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return good ? 0 : 1;
}
