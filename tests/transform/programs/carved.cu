// Buffers carved out of one allocation, of which each round uses others; calls in place; counts and
// roots that are known when the program runs, some of them zero.
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
  const size_t most = 24, n = most * ranks;
  CHECK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  float* arena;
  CHECK(cudaMalloc(&arena, 3 * n * sizeof(float)));
  CHECK(cudaMemset(arena, 0, 3 * n * sizeof(float)));
  float *now = arena, *next = arena + n, *sum = arena + 2 * n;
  for (int round = 0; round < 4; ++round) {
    const size_t count = round == 2 ? 0 : most - 5 * round;
    const int root = static_cast<int>((seed + round) % ranks);
    fill<<<2, 32, 0, stream>>>(now, n, seed, rank, round);
    fill<<<2, 32, 0, stream>>>(next, n, seed + 7, rank, round);
    CHECK(ncclAllReduce(now, now, count * ranks, ncclFloat, ncclSum, comm, stream));
    CHECK(ncclAllGather(next + rank * count, next, count, ncclFloat, comm, stream));
    consume<<<2, 32, 0, stream>>>(now, sum, n);
    consume<<<2, 32, 0, stream>>>(next, sum, n);
    CHECK(ncclBroadcast(now, now, count, ncclFloat, root, comm, stream));
    CHECK(ncclReduce(next, next, count, ncclFloat, ncclMax, root, comm, stream));
    consume<<<2, 32, 0, stream>>>(now, sum, count);
    if (rank == root) consume<<<2, 32, 0, stream>>>(next, sum, n);
    // How much goes to whom differs by rank and round; some get nothing.
    CHECK(ncclGroupStart());
    for (int peer = 0; peer < ranks; ++peer) {
      const size_t out = (rank + peer + round) % 3 * 7, in = (peer + rank + round) % 3 * 7;
      CHECK(ncclSend(now + peer * most, out, ncclFloat, peer, comm, stream));
      CHECK(ncclRecv(next + peer * most, in, ncclFloat, peer, comm, stream));
    }
    CHECK(ncclGroupEnd());
    consume<<<2, 32, 0, stream>>>(next, sum, n);
    CHECK(cudaGetLastError());
    std::swap(now, next);
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> result(n);
  CHECK(cudaMemcpy(result.data(), sum, n * sizeof(float), cudaMemcpyDeviceToHost));
  if (rank == 0) printf("first %f\n", result[0]);
  CHECK(cudaFree(arena));
  CHECK(cudaStreamDestroy(stream));
  CHECK(ncclCommDestroy(comm));
  MPI_Finalize();
  return 0;
}
