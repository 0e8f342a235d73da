// CORPUS run=2,4
// A communicator that does not block: every call is polled until it is no longer in progress.
//
// DEFECT FINALIZED use_after_destroy: a collective after ncclCommFinalize
// DEFECT UNPOLLED comm_in_progress: the copy is queued while the collective may not be on the stream yet
// DEFECT TWO_AT_ONCE comm_in_progress: a collective while the one before is still being issued
// DEFECT SKIPPED deadlock: the last rank leaves out the second collective
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int wait_for(ncclComm_t comm, ncclResult_t state) {
  while (state == ncclInProgress) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return 0;
  }
  return state == ncclSuccess;
}

#define MUST(x)                                          \
  if (!(x)) {                                            \
    fprintf(stderr, "failed at line %d\n", __LINE__);    \
    MPI_Abort(MPI_COMM_WORLD, 1);                        \
  }

__global__ void number(int64_t *p, int64_t first) { p[threadIdx.x] = first + threadIdx.x; }

int main(int argc, char **argv) {
  int me, all, i, bad = 0;
  enum { LEN = 50 };
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MUST(cudaSetDevice(me) == cudaSuccess);
  ncclUniqueId id;
  if (me == 0) MUST(ncclGetUniqueId(&id) == ncclSuccess);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "quiet";
  ncclComm_t comm;
  ncclResult_t state = ncclCommInitRankConfig(&comm, all, id, me, &config);
  MUST(wait_for(comm, state));

  int64_t *small, *large, host[LEN * 8];
  cudaStream_t stream;
  MUST(cudaStreamCreate(&stream) == cudaSuccess);
  MUST(cudaMalloc((void **)&small, LEN * sizeof(int64_t)) == cudaSuccess);
  MUST(cudaMalloc((void **)&large, all * LEN * sizeof(int64_t)) == cudaSuccess);
  number<<<1, LEN, 0, stream>>>(small, me * 1000);
  MUST(cudaGetLastError() == cudaSuccess);
  // EXPECT SKIPPED
  state = ncclAllGather(small, large, LEN, ncclInt64, comm, stream);
#ifndef DEFECT_TWO_AT_ONCE
  MUST(wait_for(comm, state));
#endif
#ifdef DEFECT_SKIPPED
  if (me != all - 1)
#endif
  {
    // EXPECT SKIPPED TWO_AT_ONCE
    state = ncclReduceScatter(large, small, LEN, ncclInt64, ncclMax, comm, stream);
#ifndef DEFECT_UNPOLLED
    MUST(wait_for(comm, state));
#endif
  }
  // EXPECT UNPOLLED
  MUST(cudaMemcpyAsync(host, large, all * LEN * sizeof(int64_t), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  // EXPECT SKIPPED UNPOLLED
  MUST(cudaStreamSynchronize(stream) == cudaSuccess);
#ifdef DEFECT_UNPOLLED
  MUST(wait_for(comm, state));
#endif
  for (i = 0; i < all * LEN; i++) bad += host[i] != i / LEN * 1000 + i % LEN;
  MUST(cudaMemcpy(host, small, LEN * sizeof(int64_t), cudaMemcpyDeviceToHost) == cudaSuccess);
  for (i = 0; i < LEN; i++) bad += host[i] != me * 1000 + i;
  state = ncclCommFinalize(comm);
  MUST(wait_for(comm, state));
#ifdef DEFECT_FINALIZED
  // EXPECT FINALIZED
  state = ncclAllReduce(small, small, LEN, ncclInt64, ncclSum, comm, stream);
  MUST(wait_for(comm, state));
#endif
  MUST(ncclCommDestroy(comm) == ncclSuccess);
  cudaFree(small);
  cudaFree(large);
  cudaStreamDestroy(stream);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0) printf(bad ? "%d wrong\n" : "all right\n", bad);
  MPI_Finalize();
  return bad != 0;
}
