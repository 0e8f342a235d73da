#include <mpi.h>
#include "comm.h"

void setup(Comm& c, int rank, int ranks) {
  c.rank = rank; c.ranks = ranks;
  CUDA(cudaSetDevice(rank));
  CUDA(cudaStreamCreate(&c.stream));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  NCCL(ncclCommInitRank(&c.comm, ranks, id, rank));
}
void gather(Comm& c, const float* x, float* y, size_t n) {
  NCCL(ncclAllGather(x, y, n, ncclFloat, c.comm, c.stream));
}
void teardown(Comm& c) {
  CUDA(cudaStreamSynchronize(c.stream));
  NCCL(ncclCommDestroy(c.comm));
}
