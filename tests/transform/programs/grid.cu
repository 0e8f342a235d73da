// Several communicators: the world, and the rows and columns of a grid, made by ncclCommSplit; row
// and column sums of one group, then the world's.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDACHECK(cmd)                                                                    \
  do {                                                                                   \
    cudaError_t e = cmd;                                                                 \
    if (e != cudaSuccess) {                                                              \
      printf("CUDA error %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e));      \
      exit(EXIT_FAILURE);                                                                \
    }                                                                                    \
  } while (0)
#define NCCLCHECK(cmd)                                                                    \
  do {                                                                                   \
    ncclResult_t r = cmd;                                                                \
    if (r != ncclSuccess) {                                                              \
      printf("NCCL error %s:%d '%s'\n", __FILE__, __LINE__, ncclGetErrorString(r));      \
      exit(EXIT_FAILURE);                                                                \
    }                                                                                    \
  } while (0)

// New input for each round, different on each rank; small enough that sums are exact.
__global__ void fill(float* data, size_t n, unsigned seed, int rank, int round) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned z = (seed * 977u + rank * 131u + round * 31u + unsigned(i)) * 2654435761u;
    data[i] = static_cast<float>(static_cast<int>((z >> 24) % 9) - 4);
  }
}

// Uses what arrived, so that what a round gets wrong shows at the end.
__global__ void consume(const float* data, float* sum, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum[i] = sum[i] * 0.5f + data[i];
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDACHECK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) NCCLCHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  const int width = ranks >= 4 ? 2 : 1;
  ncclComm_t world, row, column;
  NCCLCHECK(ncclCommInitRank(&world, ranks, id, rank));
  NCCLCHECK(ncclCommSplit(world, rank / width, rank, &row, nullptr));
  NCCLCHECK(ncclCommSplit(world, rank % width, rank, &column, nullptr));
  int rowSize = 0, columnSize = 0, inColumn = 0;
  NCCLCHECK(ncclCommCount(row, &rowSize));
  NCCLCHECK(ncclCommCount(column, &columnSize));
  NCCLCHECK(ncclCommUserRank(column, &inColumn));

  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = 24, n = count * ranks;
  float *in, *fromRow, *fromColumn, *all, *sum;
  CUDACHECK(cudaMalloc(&in, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&fromRow, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&fromColumn, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&all, n * sizeof(float)));
  CUDACHECK(cudaMalloc(&sum, n * sizeof(float)));
  CUDACHECK(cudaMemset(sum, 0, n * sizeof(float)));
  CUDACHECK(cudaMemset(fromColumn, 0, n * sizeof(float)));
  CUDACHECK(cudaDeviceSynchronize());
  cudaStream_t stream;
  CUDACHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < 3; ++round) {
    fill<<<2, 32, 0, stream>>>(in, n, seed, rank, round);
    NCCLCHECK(ncclGroupStart());
    NCCLCHECK(ncclAllReduce(in, fromRow, n, ncclFloat, ncclSum, row, stream));
    NCCLCHECK(ncclAllGather(in, fromColumn, count, ncclFloat, column, stream));
    NCCLCHECK(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(fromColumn, sum, n);
    NCCLCHECK(ncclAlltoAll(fromRow, all, count, ncclFloat, world, stream));
    consume<<<2, 32, 0, stream>>>(all, sum, n);
    // A ring in each column.
    NCCLCHECK(ncclGroupStart());
    NCCLCHECK(ncclSend(all, n, ncclFloat, (inColumn + 1) % columnSize, column, stream));
    NCCLCHECK(ncclRecv(fromColumn, n, ncclFloat, (inColumn + columnSize - 1) % columnSize, column,
                       stream));
    NCCLCHECK(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(fromColumn, sum, n);
  }
  std::vector<float> host(n);
  CUDACHECK(cudaMemcpyAsync(host.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDACHECK(cudaStreamSynchronize(stream));
  if (rank == 0) printf("row of %d: %f\n", rowSize, host[0]);
  CUDACHECK(cudaFree(in));
  CUDACHECK(cudaFree(fromRow));
  CUDACHECK(cudaFree(fromColumn));
  CUDACHECK(cudaFree(all));
  CUDACHECK(cudaFree(sum));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommDestroy(column));
  NCCLCHECK(ncclCommDestroy(row));
  NCCLCHECK(ncclCommDestroy(world));
  MPI_Finalize();
  return 0;
}
