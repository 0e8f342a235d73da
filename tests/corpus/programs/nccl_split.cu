// CORPUS run=2,4
// Communicators of the world, of its halves and of their leaders, from ncclCommSplit; a
// reduction in two levels.
//
// DEFECT WORLD_FOR_HALF deadlock: some ranks take the world's communicator for their half's
// DEFECT HALF_ROOT collective_mismatch run=4: the root is named by its world rank
// DEFECT TWO_STREAMS data_race: the second level does not wait for the first
// DEFECT DESTROYED use_after_destroy: the half's communicator is gone when it is used again
#include <mpi.h>
#include <nccl.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
[[noreturn]] void die(const char* what, int line) {
  std::fprintf(stderr, "%s (line %d)\n", what, line);
  MPI_Abort(MPI_COMM_WORLD, 9);
  std::abort();
}
#define CU(x) do { if ((x) != cudaSuccess) die(#x, __LINE__); } while (0)
#define NC(x) do { if ((x) != ncclSuccess) die(#x, __LINE__); } while (0)

constexpr int kLength = 64;

__global__ void load(double* p, int rank, int round) {
  p[threadIdx.x] = rank + 0.5 * threadIdx.x + round;
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int local;
  MPI_Comm_rank(node, &local);
  CU(cudaSetDevice(local));

  ncclUniqueId id;
  if (rank == 0) NC(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t world, half, leaders;
  NC(ncclCommInitRank(&world, size, id, rank));
  const int color = rank / ((size + 1) / 2);
  NC(ncclCommSplit(world, color, rank, &half, nullptr));
  int in_half = 0, half_size = 0;
  NC(ncclCommUserRank(half, &in_half));
  NC(ncclCommCount(half, &half_size));
  NC(ncclCommSplit(world, in_half == 0 ? 0 : NCCL_SPLIT_NOCOLOR, rank, &leaders, nullptr));

  double *data, *sum;
  CU(cudaMalloc(&data, kLength * sizeof(double)));
  CU(cudaMalloc(&sum, kLength * sizeof(double)));
  cudaStream_t stream, second;
  CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CU(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  bool good = true;
  for (int round = 0; round < 2; ++round) {
    load<<<1, kLength, 0, stream>>>(data, rank, round);
    CU(cudaGetLastError());
    int root = 0;
#if defined(DEFECT_HALF_ROOT)
    root = rank == 0 ? 0 : half_size - 1;
#endif
#if defined(DEFECT_WORLD_FOR_HALF)
    // EXPECT WORLD_FOR_HALF
    NC(ncclReduce(data, sum, kLength, ncclDouble, ncclSum, 0, rank % 2 ? world : half, stream));
#else
    // EXPECT HALF_ROOT DESTROYED TWO_STREAMS
    NC(ncclReduce(data, sum, kLength, ncclDouble, ncclSum, root, half, stream));
#endif
    cudaStream_t next = stream;
#if defined(DEFECT_TWO_STREAMS)
    next = second;
#endif
    if (leaders != nullptr) {
      // EXPECT TWO_STREAMS WORLD_FOR_HALF
      NC(ncclAllReduce(sum, sum, kLength, ncclDouble, ncclSum, leaders, next));
    }
    // EXPECT WORLD_FOR_HALF TWO_STREAMS
    NC(ncclBroadcast(sum, sum, kLength, ncclDouble, 0, half, next));
    std::vector<double> got(kLength);
    CU(cudaMemcpyAsync(got.data(), sum, kLength * sizeof(double), cudaMemcpyDeviceToHost, next));
    CU(cudaStreamSynchronize(next));
    for (int i = 0; i < kLength; ++i) {
      good = good && got[i] == size * (size - 1) / 2 + size * (0.5 * i + round);
    }
#if defined(DEFECT_DESTROYED)
    if (round == 0) NC(ncclCommDestroy(half));
#endif
  }
  if (leaders != nullptr) NC(ncclCommDestroy(leaders));
#if !defined(DEFECT_DESTROYED)
  NC(ncclCommDestroy(half));
#endif
  NC(ncclCommDestroy(world));
  CU(cudaStreamDestroy(stream));
  CU(cudaStreamDestroy(second));
  CU(cudaFree(data));
  CU(cudaFree(sum));
  int mine = good, all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s\n", all ? "all halves agree" : "wrong sums");
  MPI_Comm_free(&node);
  MPI_Finalize();
  return good ? 0 : 1;
}
