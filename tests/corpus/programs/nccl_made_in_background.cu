// CORPUS run=2,4
// What a communicator that does not block makes: halves of itself, and a window whose neighbor's
// part a kernel reads.
//
// DEFECT CHILD comm_in_progress: a half is used before anybody asked whether it is there
// DEFECT WINDOW comm_in_progress: a kernel is launched while its window may not be registered yet
// DEFECT SECOND comm_in_progress: the window is registered while the halves are being made
// DEFECT FINALIZE collective_mismatch: only one rank finalizes, and destroys, its communicator
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>

#define MUST(x)                                              \
  if (!(x)) {                                                \
    std::fprintf(stderr, "line %d: failed\n", __LINE__);     \
    MPI_Abort(MPI_COMM_WORLD, 1);                            \
  }

static bool settle(ncclComm_t comm, ncclResult_t state) {
  while (state == ncclInProgress) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return false;
  }
  return state == ncclSuccess;
}

constexpr int kCount = 32;

__global__ void from_neighbor(ncclDevComm dev, ncclWindow_t window, float* out) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), 0);
  // EXPECT WINDOW
  float* mine = static_cast<float*>(ncclGetLocalPointer(window, 0));
  mine[threadIdx.x] = 100.0f * dev.rank + threadIdx.x;
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  const int next = (dev.lsaRank + 1) % dev.lsaSize;
  const float* theirs = static_cast<const float*>(ncclGetLsaPointer(window, 0, next));
  out[threadIdx.x] += theirs[threadIdx.x];
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MUST(cudaSetDevice(rank) == cudaSuccess);
  ncclUniqueId id;
  if (rank == 0) MUST(ncclGetUniqueId(&id) == ncclSuccess);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm, half;
  MUST(settle(comm, ncclCommInitRankConfig(&comm, ranks, id, rank, &config)));
  ncclResult_t state = ncclCommSplit(comm, rank % 2, rank, &half, nullptr);
#if !defined(DEFECT_CHILD) && !defined(DEFECT_SECOND)
  MUST(settle(comm, state));
#endif
  cudaStream_t stream;
  float *sum, *out, host[kCount];
  MUST(cudaStreamCreate(&stream) == cudaSuccess);
  MUST(cudaMalloc(&sum, sizeof host) == cudaSuccess);
  MUST(cudaMalloc(&out, sizeof host) == cudaSuccess);
  for (float& x : host) x = 1.0f;
  MUST(cudaMemcpy(sum, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
#ifndef DEFECT_SECOND
  // EXPECT CHILD
  state = ncclAllReduce(sum, out, kCount, ncclFloat, ncclSum, half, stream);
  MUST(settle(half, state));
#endif
#ifdef DEFECT_CHILD
  MUST(settle(comm, ncclInProgress));
#endif

  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needs.lsaBarrierCount = 1;
  ncclDevComm dev;
#ifndef DEFECT_SECOND
  MUST(settle(comm, ncclDevCommCreate(comm, &needs, &dev)));
#endif
  void* memory;
  ncclWindow_t window;
  MUST(ncclMemAlloc(&memory, sizeof host) == ncclSuccess);
  // EXPECT SECOND
  state = ncclCommWindowRegister(comm, memory, sizeof host, &window, NCCL_WIN_COLL_SYMMETRIC);
#ifdef DEFECT_SECOND
  MUST(settle(comm, state));
  MUST(settle(comm, ncclDevCommCreate(comm, &needs, &dev)));
  MUST(settle(half, ncclAllReduce(sum, out, kCount, ncclFloat, ncclSum, half, stream)));
#endif
#ifndef DEFECT_WINDOW
  MUST(settle(comm, state));
#endif
  from_neighbor<<<1, kCount, 0, stream>>>(dev, window, out);
  MUST(cudaGetLastError() == cudaSuccess);
  MUST(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  MUST(cudaStreamSynchronize(stream) == cudaSuccess);
#ifdef DEFECT_WINDOW
  MUST(settle(comm, state));
#endif
  int bad = 0;
  for (int i = 0; i < kCount; i++) {
    bad += host[i] != (ranks + 1 - rank % 2) / 2 + 100.0f * ((rank + 1) % ranks) + i;
  }
  MUST(settle(comm, ncclCommWindowDeregister(comm, window)));
  MUST(ncclDevCommDestroy(comm, &dev) == ncclSuccess);
  MUST(ncclMemFree(memory) == ncclSuccess);
  MUST(settle(half, ncclCommFinalize(half)));
#ifdef DEFECT_FINALIZE
  if (rank == 0)
#endif
  {
    // EXPECT FINALIZE
    MUST(settle(comm, ncclCommFinalize(comm)));
    MUST(ncclCommDestroy(comm) == ncclSuccess);
  }
  MUST(ncclCommDestroy(half) == ncclSuccess);
  cudaFree(sum);
  cudaFree(out);
  cudaStreamDestroy(stream);
  MPI_Finalize();
  if (bad) std::printf("rank %d: %d wrong\n", rank, bad);
  return bad != 0;
}
