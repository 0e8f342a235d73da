// Buffers of stream-ordered memory, of the device's pool and of one of the program's own, that each
// round takes and gives back; and a managed one that the host never touches.
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

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = rank;
  cudaMemPool_t pool;
  check(cudaMemPoolCreate(&pool, &properties));
  float *sum, *gathered;
  check(cudaMallocAsync(&sum, bytes, stream));
  check(cudaMemsetAsync(sum, 0, bytes, stream));
  check(cudaMallocManaged(&gathered, bytes));

  for (int round = 0; round < 3; ++round) {
    float *send, *recv;
    check(cudaMallocAsync(&send, bytes, stream));
    check(cudaMallocFromPoolAsync(&recv, bytes, pool, stream));
    fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);
    check(ncclAllReduce(send, recv, n, ncclFloat, ncclSum, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
    check(ncclAllGather(recv, gathered, count, ncclFloat, comm, stream));
    consume<<<2, 32, 0, stream>>>(gathered, sum, n);
    check(cudaFreeAsync(send, stream));
    check(ncclGroupStart());
    check(ncclSend(gathered, n, ncclFloat, (rank + 1) % ranks, comm, stream));
    check(ncclRecv(recv, n, ncclFloat, (rank + ranks - 1) % ranks, comm, stream));
    check(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
    check(cudaGetLastError());
    check(cudaFreeAsync(recv, stream));
  }
  check(cudaStreamSynchronize(stream));
  std::vector<float> result(n);
  check(cudaMemcpy(result.data(), sum, bytes, cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  check(cudaFreeAsync(sum, stream));
  check(cudaFree(gathered));
  check(cudaStreamSynchronize(stream));
  check(cudaMemPoolDestroy(pool));
  check(cudaStreamDestroy(stream));
  check(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
