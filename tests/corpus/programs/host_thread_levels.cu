// CORPUS run=2
// Two threads of each rank talk to the other rank at a time: one sends halos, the other sums.
//
// DEFECT PLAIN_INIT mpi_mismatch: MPI_Init allows one thread
// DEFECT FUNNELED mpi_mismatch: only the thread that started MPI may call it
// DEFECT NO_TURNS mpi_mismatch: MPI_THREAD_SERIALIZED, and nothing orders the calls
#include <cstdio>
#include <thread>

#include <cuda_runtime.h>
#include <mpi.h>

__global__ void edges(int* values, int rank) { values[threadIdx.x] = rank + 10 * threadIdx.x; }

static int exchange(int mine, int peer, int tag) {
  int theirs = -1;
  // EXPECT PLAIN_INIT FUNNELED NO_TURNS
  MPI_Sendrecv(&mine, 1, MPI_INT, peer, tag, &theirs, 1, MPI_INT, peer, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return theirs;
}

int main(int argc, char** argv) {
#if defined(DEFECT_PLAIN_INIT)
  MPI_Init(&argc, &argv);
#elif defined(DEFECT_FUNNELED)
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#elif defined(DEFECT_NO_TURNS)
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
#else
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
#endif
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *device, mine[2];
  if (cudaMalloc(&device, sizeof(mine)) != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 2);
  edges<<<1, 2>>>(device, rank);
  if (cudaGetLastError() != cudaSuccess ||
      cudaMemcpy(mine, device, sizeof(mine), cudaMemcpyDeviceToHost) != cudaSuccess ||
      cudaFree(device) != cudaSuccess) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int halo = 0, sum = 0;
  std::thread halos([&] { halo = exchange(mine[1], 1 - rank, 1); });
  std::thread sums([&] { sum = rank + exchange(mine[0], 1 - rank, 2); });
  halos.join();
  sums.join();
  const bool good = halo == 11 - rank && sum == 1;
  if (!good) fprintf(stderr, "rank %d: halo %d, sum %d\n", rank, halo, sum);
  MPI_Finalize();
  return good ? 0 : 1;
}
