// CORPUS run=2,4
// A transpose by stores into the windows of all peers; buffers are registered, used and given back
// by hand, in plain C.
//
// DEFECT NOT_REGISTERED window_null: the second buffer never became a window
// DEFECT CUDA_MALLOC window_memory: the buffer is from cudaMalloc
// DEFECT MISALIGNED window_alignment: registers the buffer behind its header
// DEFECT ORDER window_order_mismatch: the last rank registers the two buffers in the other order
// DEFECT FREE_FIRST window_use_after_free: frees the memory before its window goes
// DEFECT DEREGISTER_EARLY window_deregistered: the window goes before the kernel is waited for
// DEFECT ROW_TOO_FAR out_of_bounds: rows are counted from one
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <stdio.h>
#include <stdlib.h>

#define N 32

static int me, all;
static void stop_if(int bad, int line) {
  if (!bad) return;
  fprintf(stderr, "rank %d stops at line %d\n", me, line);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(x) stop_if((x) != 0, __LINE__)

__global__ void transpose(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to) {
  ncclCoopCta cta;
  ncclTeam lsa = ncclTeamLsa(dev);
  ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), blockIdx.x);
  bar.sync(cta, cuda::memory_order_acquire);
  const int *mine = (const int *)ncclGetLocalPointer(from, 0);
  for (int peer = blockIdx.x; peer < lsa.nRanks; peer += gridDim.x) {
#ifdef DEFECT_ROW_TOO_FAR
    size_t row = lsa.rank + 1;
#else
    size_t row = lsa.rank;
#endif
    // EXPECT NOT_REGISTERED DEREGISTER_EARLY
    int *theirs = (int *)ncclGetLsaPointer(to, row * N * sizeof(int), peer);
    // EXPECT ROW_TOO_FAR
    for (int i = threadIdx.x; i < N; i += blockDim.x) theirs[i] = mine[peer * N + i];
  }
  bar.sync(cta, cuda::memory_order_release);
}

int main(int argc, char **argv) {
  int *a, *b, *h, bad = 0;
  ncclWindow_t wa = NULL, wb = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  OK(cudaSetDevice(me));
  ncclUniqueId id;
  ncclComm_t comm;
  if (me == 0) OK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  OK(ncclCommInitRank(&comm, all, id, me));
  size_t bytes = all * N * sizeof(int);
  h = (int *)malloc(bytes);
  OK(ncclMemAlloc((void **)&a, 2 * bytes));  // the second half is for another use
#ifdef DEFECT_CUDA_MALLOC
  OK(cudaMalloc((void **)&b, bytes));
#else
  OK(ncclMemAlloc((void **)&b, bytes));
#endif
  for (int i = 0; i < all * N; i++) h[i] = me * 1000 + i;
  OK(cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice));

#if defined(DEFECT_ORDER)
  if (me == all - 1) {
    // EXPECT ORDER
    OK(ncclCommWindowRegister(comm, b, bytes, &wb, NCCL_WIN_COLL_SYMMETRIC));
  }
#endif
  // EXPECT ORDER
  OK(ncclCommWindowRegister(comm, a, 2 * bytes, &wa, NCCL_WIN_COLL_SYMMETRIC));
#if defined(DEFECT_MISALIGNED)
  // EXPECT MISALIGNED
  OK(ncclCommWindowRegister(comm, b + 16, bytes, &wb, NCCL_WIN_COLL_SYMMETRIC));
#elif defined(DEFECT_CUDA_MALLOC)
  // EXPECT CUDA_MALLOC
  OK(ncclCommWindowRegister(comm, b, bytes, &wb, NCCL_WIN_COLL_SYMMETRIC));
#elif !defined(DEFECT_NOT_REGISTERED)
  if (wb == NULL) {
    // EXPECT ORDER
    OK(ncclCommWindowRegister(comm, b, bytes, &wb, NCCL_WIN_COLL_SYMMETRIC));
  }
#endif

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 2;
  ncclDevComm dev;
  OK(ncclDevCommCreate(comm, &reqs, &dev));
  transpose<<<2, N>>>(dev, wa, wb);
  OK(cudaGetLastError());
#ifdef DEFECT_DEREGISTER_EARLY
  // EXPECT DEREGISTER_EARLY
  OK(ncclCommWindowDeregister(comm, wb));
#endif
  OK(cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < all * N; i++) bad += h[i] != i / N * 1000 + me * N + i % N;
  OK(ncclDevCommDestroy(comm, &dev));
#ifdef DEFECT_FREE_FIRST
  // EXPECT FREE_FIRST
  OK(ncclMemFree(b));
  OK(ncclCommWindowDeregister(comm, wb));
#else
  OK(ncclCommWindowDeregister(comm, wb));
  OK(ncclMemFree(b));
#endif
  OK(ncclCommWindowDeregister(comm, wa));
  OK(ncclMemFree(a));
  OK(ncclCommDestroy(comm));
  free(h);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0) printf(bad ? "%d wrong\n" : "transposed\n", bad);
  MPI_Finalize();
  return bad != 0;
}
