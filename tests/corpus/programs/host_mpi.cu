// CORPUS run=2,4
// MPI between the kernels: results of all ranks are gathered, split communicators sum per parity.
//
// DEFECT OTHER_CALL mpi_mismatch: rank 0 calls another collective than the rest
// DEFECT LONG_BCAST mpi_mismatch: the root broadcasts more than the others expect
// DEFECT SKIPPED_BARRIER mpi_mismatch: rank 0 leaves out a barrier
// DEFECT OTHER_TYPE mpi_mismatch: integers are sent, floating-point numbers received
// DEFECT ONE_IN_PLACE mpi_mismatch: rank 0 alone sums in place
// DEFECT NULL_POINTER crash: rank 0 writes through a null pointer
#include "harness.h"

#ifdef DEFECT_OTHER_TYPE
#define kReceived MPI_FLOAT
#else
#define kReceived MPI_INT
#endif

constexpr int kInts = 8;

__global__ void fill(int* data, int rank) { data[threadIdx.x] = value(rank, 0, threadIdx.x, 0); }

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  int* data;
  CHECK(cudaMalloc(&data, kInts * sizeof(int)));
  fill<<<1, kInts, 0, job.stream>>>(data, job.rank);
  CHECK(cudaGetLastError());
  std::vector<int> mine(kInts), all(job.ranks * kInts);
  CHECK(
      cudaMemcpyAsync(mine.data(), data, kInts * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));

#if defined(DEFECT_OTHER_CALL)
  if (job.rank == 0) {
    // EXPECT OTHER_CALL
    CHECK(MPI_Gather(mine.data(), kInts, MPI_INT, all.data(), kInts, MPI_INT, 0, MPI_COMM_WORLD));
  } else
#endif
    // EXPECT OTHER_CALL OTHER_TYPE
    CHECK(MPI_Allgather(mine.data(), kInts, MPI_INT, all.data(), kInts, kReceived, MPI_COMM_WORLD));
  bool good = true;
  for (int i = 0; i < job.ranks * kInts; ++i) {
    good = good && all[i] == value(i / kInts, 0, i % kInts, 0);
  }

  int announced[2] = {job.rank == 0 ? 42 : 0, 0}, length = 1;
#if defined(DEFECT_LONG_BCAST)
  if (job.rank == 0) length = 2;
#endif
  // EXPECT LONG_BCAST
  CHECK(MPI_Bcast(announced, length, MPI_INT, 0, MPI_COMM_WORLD));
  good = good && announced[0] == 42;

#if defined(DEFECT_SKIPPED_BARRIER)
  if (job.rank != 0)
#endif
    // EXPECT SKIPPED_BARRIER
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Comm parity;
  // EXPECT SKIPPED_BARRIER
  CHECK(MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &parity));
  int sum = 0, expected = 0;
#ifdef DEFECT_ONE_IN_PLACE
  sum = job.rank;
  const void* given = job.rank == 0 ? MPI_IN_PLACE : &job.rank;
  // EXPECT ONE_IN_PLACE
  CHECK(MPI_Allreduce(given, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
#else
  CHECK(MPI_Allreduce(&job.rank, &sum, 1, MPI_INT, MPI_SUM, parity));
#endif
  for (int r = job.rank % 2; r < job.ranks; r += 2) expected += r;
  good = good && sum == expected;
  CHECK(MPI_Comm_free(&parity));

#if defined(DEFECT_NULL_POINTER)
  int* volatile nowhere = nullptr;
  if (job.rank == 0) {
    // EXPECT NULL_POINTER
    *nowhere = 1;
  }
#endif
  CHECK(ncclBroadcast(data, data, kInts, ncclInt32, 0, job.comm, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(cudaMemcpy(mine.data(), data, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kInts; ++i) good = good && mine[i] == all[i];
  CHECK(cudaFree(data));
  return finish(job, good);
}
