#include <mpi.h>
#include "comm.h"

enum Place { kEnd = 7, kBegin };
template <typename T>
struct Shape {
  T values;
};
static size_t at(Shape<size_t> shape) { return kBegin == 8 ? shape.values : 0; }

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
  const Shape<size_t> WIDTH{n};
  NCCL(ncclAllGather(x, y, at(WIDTH), ncclFloat, c.comm, c.stream));
}
void teardown(Comm& c) {
  CUDA(cudaStreamSynchronize(c.stream));
  NCCL(ncclCommDestroy(c.comm));
}
