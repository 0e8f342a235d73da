// A starter workload: each rank scales its own random vector, and all ranks add them up.
//
//   mpirun -n 4 ./program [seed]

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef COUNT
#define COUNT 256  // elements of the vector
#endif

#define CHECK(call, good)                                               \
  do {                                                                  \
    if ((call) != (good)) {                                             \
      fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                     \
    }                                                                   \
  } while (0)

__global__ void scale(const float* in, float* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * in[i];
}

// Uniform in [-1, 1): a hash of (seed, rank, index), so that any rank can redraw another's data.
static float draw(uint64_t seed, int rank, int i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15ull + rank * 0xd1b54a32d192ed03ull + i;
  for (int round = 0; round < 3; ++round) {
    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ull;
    z ^= z >> 29;
  }
  return static_cast<float>(static_cast<double>(z >> 11) * 0x1.0p-52 - 1.0);
}

int main(int argc, char** argv) {
  CHECK(MPI_Init(&argc, &argv), MPI_SUCCESS);
  int rank = 0, ranks = 0, devices = 0;
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS);
  CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks), MPI_SUCCESS);
  CHECK(cudaGetDeviceCount(&devices), cudaSuccess);
  CHECK(cudaSetDevice(rank % devices), cudaSuccess);
  ncclUniqueId id;
  if (rank == 0) CHECK(ncclGetUniqueId(&id), ncclSuccess);
  CHECK(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess);

  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  std::vector<float> input(COUNT), output(COUNT);
  for (int i = 0; i < COUNT; ++i) input[i] = draw(seed, rank, i);
  float *d_input, *d_scaled, *d_sum;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream), cudaSuccess);
  CHECK(cudaMalloc(&d_input, COUNT * sizeof(float)), cudaSuccess);
  CHECK(cudaMalloc(&d_scaled, COUNT * sizeof(float)), cudaSuccess);
  CHECK(cudaMalloc(&d_sum, COUNT * sizeof(float)), cudaSuccess);
  CHECK(cudaMemcpy(d_input, input.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice),
        cudaSuccess);

  scale<<<(COUNT + 127) / 128, 128, 0, stream>>>(d_input, d_scaled, rank + 1.0f, COUNT);
  CHECK(cudaGetLastError(), cudaSuccess);
  CHECK(ncclAllReduce(d_scaled, d_sum, COUNT, ncclFloat, ncclSum, comm, stream), ncclSuccess);
  CHECK(cudaStreamSynchronize(stream), cudaSuccess);

  CHECK(cudaMemcpy(output.data(), d_sum, COUNT * sizeof(float), cudaMemcpyDeviceToHost),
        cudaSuccess);
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) {
    double expected = 0.0;
    for (int r = 0; r < ranks; ++r) expected += (r + 1.0) * draw(seed, r, i);
    if (!(std::fabs(output[i] - expected) <= 1e-5 * (1 + std::fabs(expected)))) ++wrong;
  }
  printf("rank %d: %s\n", rank, wrong ? "FAIL" : "PASS");

  CHECK(cudaFree(d_input), cudaSuccess);
  CHECK(cudaFree(d_scaled), cudaSuccess);
  CHECK(cudaFree(d_sum), cudaSuccess);
  CHECK(cudaStreamDestroy(stream), cudaSuccess);
  CHECK(ncclCommDestroy(comm), ncclSuccess);
  CHECK(MPI_Finalize(), MPI_SUCCESS);
  return wrong ? 1 : 0;
}
