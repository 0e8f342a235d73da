// CORPUS run=3,4
// Workers hand results to rank 0, which has posted its receives before they may send: ready sends.
// It takes results as they come.
//
// DEFECT NOT_POSTED mpi_mismatch: nothing says that the receives are posted when the sends start
// DEFECT TAKES_FIRST mpi_buffer_in_use: takes the first request for the one that came first
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <mpi.h>

constexpr int kCount = 8;

__global__ void compute(int* values, int rank) {
  values[threadIdx.x] = 100 * rank + static_cast<int>(threadIdx.x);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int wrong = 0;
  if (rank == 0) {
    std::vector<MPI_Request> requests(ranks - 1);
    std::vector<int> results((ranks - 1) * kCount);
#ifdef DEFECT_NOT_POSTED
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    for (int worker = 1; worker < ranks; ++worker) {
      MPI_Irecv(&results[(worker - 1) * kCount], kCount, MPI_INT, worker, 5, MPI_COMM_WORLD,
                &requests[worker - 1]);
    }
#ifndef DEFECT_NOT_POSTED
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    for (int i = 1; i < ranks; ++i) {
      int which;
      MPI_Waitany(ranks - 1, requests.data(), &which, MPI_STATUS_IGNORE);
#ifdef DEFECT_TAKES_FIRST
      which = i - 1;
#endif
      // EXPECT TAKES_FIRST
      for (int k = 0; k < kCount; ++k) wrong += results[which * kCount + k] != 100 * (which + 1) + k;
    }
  } else {
    int *values, local[kCount];
    if (cudaMalloc(&values, sizeof(local)) != cudaSuccess) MPI_Abort(MPI_COMM_WORLD, 1);
    compute<<<1, kCount>>>(values, rank);
    if (cudaGetLastError() != cudaSuccess ||
        cudaMemcpy(local, values, sizeof(local), cudaMemcpyDeviceToHost) != cudaSuccess ||
        cudaFree(values) != cudaSuccess) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // EXPECT NOT_POSTED
    MPI_Rsend(local, kCount, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d results are wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
