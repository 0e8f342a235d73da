// A round is captured into a graph, which is launched several times; each replay has new input. Between
// the replays ranks communicate without a graph.
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
__global__ void fill(float* data, size_t n, unsigned seed, int rank, const int* round) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned z = (seed * 977u + rank * 131u + *round * 31u + unsigned(i)) * 2654435761u;
    data[i] = static_cast<float>(static_cast<int>((z >> 24) % 9) - 4);
  }
}

__global__ void advance(int* round) { *round += 1; }

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

  float *send, *recv, *sum;
  int* round;
  check(cudaMalloc(&send, bytes));
  check(cudaMalloc(&recv, bytes));
  check(cudaMalloc(&sum, bytes));
  check(cudaMalloc(&round, sizeof(int)));
  check(cudaMemsetAsync(sum, 0, bytes, stream));
  check(cudaMemsetAsync(round, 0, sizeof(int), stream));

  cudaGraph_t graph;
  cudaGraphExec_t replay;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fill<<<2, 32, 0, stream>>>(send, n, seed, rank, round);
  check(ncclAllReduce(send, recv, n, ncclFloat, ncclSum, comm, stream));
  consume<<<2, 32, 0, stream>>>(recv, sum, n);
  check(ncclAllGather(send, recv, count, ncclFloat, comm, stream));
  consume<<<2, 32, 0, stream>>>(recv, sum, n);
  check(ncclGroupStart());
  check(ncclSend(send, n, ncclFloat, (rank + 1) % ranks, comm, stream));
  check(ncclRecv(recv, n, ncclFloat, (rank + ranks - 1) % ranks, comm, stream));
  check(ncclGroupEnd());
  consume<<<2, 32, 0, stream>>>(recv, sum, n);
  advance<<<1, 1, 0, stream>>>(round);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));

  for (int i = 0; i < 4; ++i) {
    check(cudaGraphLaunch(replay, stream));
    if (i % 2 == 1) continue;
    check(ncclGroupStart());
    check(ncclSend(sum, count, ncclFloat, (rank + ranks - 1) % ranks, comm, stream));
    check(ncclRecv(recv, count, ncclFloat, (rank + 1) % ranks, comm, stream));
    check(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(recv, sum, count);
    check(ncclAlltoAll(sum, recv, count, ncclFloat, comm, stream));
    consume<<<2, 32, 0, stream>>>(recv, sum, n);
  }
  check(cudaStreamSynchronize(stream));
  std::vector<float> result(n);
  check(cudaMemcpy(result.data(), sum, bytes, cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaFree(send));
  check(cudaFree(recv));
  check(cudaFree(sum));
  check(cudaFree(round));
  check(cudaStreamDestroy(stream));
  check(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
