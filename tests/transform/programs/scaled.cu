// Sums of what each rank scales by a number of its own: one that the host names, and one that lies on the
// device and changes from round to round; beside them a plain reduction.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t e) {
  if (e != cudaSuccess) {
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
    exit(EXIT_FAILURE);
  }
}
inline void check(ncclResult_t r) {
  if (r != ncclSuccess) {
    fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(r));
    exit(EXIT_FAILURE);
  }
}

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

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = 37, n = count * ranks, bytes = n * sizeof(float);
  check(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) check(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  check(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  float *send, *recv, *sum, *factor;
  check(cudaMalloc(&send, bytes));
  check(cudaMalloc(&recv, bytes));
  check(cudaMalloc(&sum, bytes));
  check(cudaMalloc(&factor, sizeof(float)));
  check(cudaMemsetAsync(sum, 0, bytes, stream));
  float weight = 0.5f + rank;
  ncclRedOp_t weighted, changing;
  check(ncclRedOpCreatePreMulSum(&weighted, &weight, ncclFloat, ncclScalarHostImmediate, comm));
  check(ncclRedOpCreatePreMulSum(&changing, factor, ncclFloat, ncclScalarDevice, comm));

  for (int round = 0; round < 3; ++round) {
    fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);
    fill<<<1, 1, 0, stream>>>(factor, 1, seed + 7, rank, round);
    check(ncclAllReduce(send, recv, n, ncclFloat, weighted, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
    check(ncclReduceScatter(send, recv, count, ncclFloat, changing, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, count);
    check(ncclAllReduce(send, send, n, ncclFloat, ncclMax, comm, stream));
    consume<<<2, 32, 0, stream>>>(send, sum, n);
    check(ncclReduce(send, recv, n, ncclFloat, changing, round % ranks, comm, stream));
    if (rank == round % ranks) consume<<<2, 32, 0, stream>>>(recv, sum, n);
    check(cudaGetLastError());
  }
  check(cudaStreamSynchronize(stream));
  std::vector<float> result(n);
  check(cudaMemcpy(result.data(), sum, bytes, cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  check(ncclRedOpDestroy(weighted, comm));
  check(ncclRedOpDestroy(changing, comm));
  check(cudaFree(send));
  check(cudaFree(recv));
  check(cudaFree(sum));
  check(cudaFree(factor));
  check(cudaStreamDestroy(stream));
  check(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
