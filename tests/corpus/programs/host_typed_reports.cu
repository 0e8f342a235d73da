// CORPUS run=3,4
// Each rank reports every second result of its kernel, in a message of its own length; rank 0 probes for
// the next one and receives it.
//
// DEFECT UNCOMMITTED mpi_mismatch: the data type is used before MPI_Type_commit
// DEFECT ANY_SENDER mpi_truncation: a receive from anybody gets another message than the probed one
#include "harness.h"

__global__ void results(int* out, int rank) { out[threadIdx.x] = rank * 1000 + threadIdx.x; }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int length = 4 * (job.ranks - job.rank + 1);
  int* out;
  CHECK(cudaMalloc(&out, 64 * sizeof(int)));
  results<<<1, 64>>>(out, job.rank);
  CHECK(cudaGetLastError());
  std::vector<int> mine(64);
  CHECK(cudaMemcpy(mine.data(), out, 64 * sizeof(int), cudaMemcpyDeviceToHost));
  MPI_Datatype every_second;
  CHECK(MPI_Type_vector(length, 1, 2, MPI_INT, &every_second));
#ifndef DEFECT_UNCOMMITTED
  CHECK(MPI_Type_commit(&every_second));
#endif
  bool good = mine[63] == job.rank * 1000 + 63;
  if (job.rank) {
    // EXPECT UNCOMMITTED
    CHECK(MPI_Send(mine.data(), 1, every_second, 0, 5, MPI_COMM_WORLD));
  } else {
    for (int left = job.ranks - 1; left > 0; --left) {
      MPI_Status status;
      int count = 0;
      CHECK(MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
      CHECK(MPI_Get_count(&status, MPI_INT, &count));
      std::vector<int> got(count);
#ifdef DEFECT_ANY_SENDER
      const int from = MPI_ANY_SOURCE;
#else
      const int from = status.MPI_SOURCE;
#endif
      // EXPECT ANY_SENDER
      CHECK(MPI_Recv(got.data(), count, MPI_INT, from, 5, MPI_COMM_WORLD, &status));
      for (int i = 0; i < count; ++i) good = good && got[i] == status.MPI_SOURCE * 1000 + 2 * i;
    }
  }
  CHECK(MPI_Type_free(&every_second));
  CHECK(cudaFree(out));
  return finish(job, good);
}
