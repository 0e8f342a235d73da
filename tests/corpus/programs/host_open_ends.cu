// CORPUS run=2,4
// Rank 0 hands out work and collects one report of each other rank, by started messages.
//
// DEFECT NOT_WAITED mpi_mismatch: the last report is sent and never completed
// DEFECT NOT_RECEIVED mpi_mismatch: rank 0 leaves out the report of the last rank
#include "harness.h"

__global__ void work(int* out, const int* task) { out[threadIdx.x] = *task * 10 + threadIdx.x; }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int kLanes = 16;
  int *task, *out;
  CHECK(cudaMalloc(&task, sizeof(int)));
  CHECK(cudaMalloc(&out, kLanes * sizeof(int)));
  bool good = true;
  if (job.rank == 0) {
    for (int to = 1; to < job.ranks; ++to) CHECK(MPI_Send(&to, 1, MPI_INT, to, 1, MPI_COMM_WORLD));
    int last = job.ranks;
#ifdef DEFECT_NOT_RECEIVED
    --last;
#endif
    for (int from = 1; from < last; ++from) {
      int report[kLanes];
      CHECK(MPI_Recv(report, kLanes, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int i = 0; i < kLanes; ++i) good = good && report[i] == from * 10 + i;
    }
  } else {
    int mine, report[kLanes];
    CHECK(MPI_Recv(&mine, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(cudaMemcpy(task, &mine, sizeof(int), cudaMemcpyHostToDevice));
    work<<<1, kLanes>>>(out, task);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(report, out, sizeof(report), cudaMemcpyDeviceToHost));
    good = report[0] == job.rank * 10;
    MPI_Request sent;
    // EXPECT NOT_WAITED NOT_RECEIVED
    CHECK(MPI_Isend(report, kLanes, MPI_INT, 0, 2, MPI_COMM_WORLD, &sent));
#ifdef DEFECT_NOT_WAITED
    if (job.rank != job.ranks - 1)
#endif
      CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  }
  CHECK(cudaFree(task));
  CHECK(cudaFree(out));
  return finish(job, good);
}
