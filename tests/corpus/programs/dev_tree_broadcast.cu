// CORPUS run=4,7
// Broadcast along a binary tree: a rank waits for its parent's chunk and passes it on to its
// children out of the buffer it came into, chunk after chunk.
//
// DEFECT FORWARD_EARLY missing_wait: passes a chunk on before it has come
// DEFECT LEAF_READS missing_wait: leaves read without waiting, as they have nothing to pass on
// DEFECT WRONG_CHILD peer_out_of_range: the last parent has one child only
// DEFECT NO_BARRIER destination_overwrite: the next round's chunks land on those that are being read
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <cuda_runtime.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CHUNKS 4
#define CHUNK 20
#define ROUNDS 2

#define TRY(expr) do { int status_ = (int)(expr); if (status_) { fprintf(stderr, "%s: %d\n", #expr, status_); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

__global__ void broadcast(ncclDevComm dev, ncclWindow_t win, int *out, int round) {
  ncclCoopWarp warp;
  ncclGin gin(dev, 0);
  ncclTeam all = ncclTeamWorld(dev);
  int me = all.rank, lane = threadIdx.x;
  int *data = (int *)ncclGetLocalPointer(win, 0);
  ncclGinBarrierSession<ncclCoopWarp> bar(warp, gin, ncclTeamTagWorld(), 0);
#ifndef DEFECT_NO_BARRIER
  bar.sync(warp, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
#endif
  if (me == 0) {
    for (int i = lane; i < N_CHUNKS * CHUNK; i += 32) {
      data[i] = i * 3 + round * 1000;
    }
  }
  warp.sync();
  for (int c = 0; c < N_CHUNKS; c++) {
#ifdef DEFECT_LEAF_READS
    bool waits = me != 0 && 2 * me + 1 < all.nRanks;
#else
    bool waits = me != 0;
#endif
#ifndef DEFECT_FORWARD_EARLY
    if (waits) gin.waitSignal(warp, 0, (uint64_t)round * N_CHUNKS + c + 1);
#endif
    for (int child = 2 * me + 1; child <= 2 * me + 2; child++) {
#ifdef DEFECT_WRONG_CHILD
      if (2 * me + 1 >= all.nRanks) break;
#else
      if (child >= all.nRanks) break;
#endif
      size_t at = c * CHUNK * sizeof(int);
      // EXPECT FORWARD_EARLY WRONG_CHILD NO_BARRIER
      gin.put(all, child, win, at, win, at, CHUNK * sizeof(int), ncclGin_StrongSignalInc{0}, ncclGin_None{}, warp);
    }
#ifdef DEFECT_FORWARD_EARLY
    if (waits) gin.waitSignal(warp, 0, (uint64_t)round * N_CHUNKS + c + 1);
#endif
    for (int i = lane; i < CHUNK; i += 32) {
      // EXPECT LEAF_READS NO_BARRIER
      out[c * CHUNK + i] = data[c * CHUNK + i] + me;
    }
  }
  gin.flush(warp);
}

int main(int argc, char **argv) {
  int rank, size, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  TRY(cudaSetDevice(rank));
  ncclUniqueId id;
  if (!rank) TRY(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  TRY(ncclCommInitRank(&comm, size, id, rank));
  size_t bytes = N_CHUNKS * CHUNK * sizeof(int);
  int *data, *out, *host = (int *)malloc(bytes);
  ncclWindow_t win;
  TRY(ncclMemAlloc((void **)&data, bytes));
  TRY(ncclCommWindowRegister(comm, data, bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
  TRY(cudaMalloc((void **)&out, bytes));
  ncclDevCommRequirements_t reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm_t dev;
  TRY(ncclDevCommCreate(comm, &reqs, &dev));
  for (int round = 0; round < ROUNDS; round++) {
    broadcast<<<1, 32>>>(dev, win, out, round);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(host, out, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N_CHUNKS * CHUNK; i++) bad += host[i] != i * 3 + round * 1000 + rank;
  }
  TRY(ncclDevCommDestroy(comm, &dev));
  TRY(ncclCommWindowDeregister(comm, win));
  TRY(ncclMemFree(data));
  TRY(cudaFree(out));
  free(host);
  TRY(ncclCommDestroy(comm));
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!rank) printf("%d values differ\n", bad);
  MPI_Finalize();
  return bad ? 1 : 0;
}
