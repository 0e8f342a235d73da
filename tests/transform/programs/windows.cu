// Buffers of ncclMemAlloc, which the program itself has registered, as windows and by
// ncclCommRegister, for NCCL's own kernels; one of cudaMalloc beside them.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                          \
  do {                                                       \
    if ((call) != 0) {                                       \
      fprintf(stderr, "%s:%d failed\n", __FILE__, __LINE__); \
      exit(EXIT_FAILURE);                                    \
    }                                                        \
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

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
  const size_t count = 24, n = count * ranks, bytes = n * sizeof(float);
  CHECK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  float *send, *recv, *plain, *sum;
  CHECK(ncclMemAlloc((void**)&send, bytes));
  CHECK(ncclMemAlloc((void**)&recv, bytes));
  CHECK(cudaMalloc(&plain, bytes));
  CHECK(cudaMalloc(&sum, bytes));
  CHECK(cudaMemset(sum, 0, bytes));
  ncclWindow_t send_window, recv_window;
  void* registered;
  CHECK(ncclCommWindowRegister(comm, send, bytes, &send_window, NCCL_WIN_COLL_SYMMETRIC));
  CHECK(ncclCommWindowRegister(comm, recv, bytes, &recv_window, NCCL_WIN_COLL_SYMMETRIC));
  CHECK(ncclCommRegister(comm, send, bytes, &registered));
  for (int round = 0; round < 3; ++round) {
    fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);
    CHECK(ncclAllReduce(send, recv, n, ncclFloat, ncclSum, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
    CHECK(ncclAllGather(send, recv, count, ncclFloat, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
    CHECK(ncclGroupStart());
    CHECK(ncclSend(recv, n, ncclFloat, (rank + 1) % ranks, comm, stream));
    CHECK(ncclRecv(plain, n, ncclFloat, (rank + ranks - 1) % ranks, comm, stream));
    CHECK(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(plain, sum, n);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> result(n);
  CHECK(cudaMemcpy(result.data(), sum, bytes, cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  CHECK(ncclCommDeregister(comm, registered));
  CHECK(ncclCommWindowDeregister(comm, send_window));
  CHECK(ncclCommWindowDeregister(comm, recv_window));
  CHECK(ncclMemFree(send));
  CHECK(ncclMemFree(recv));
  CHECK(cudaFree(plain));
  CHECK(cudaFree(sum));
  CHECK(cudaStreamDestroy(stream));
  CHECK(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
