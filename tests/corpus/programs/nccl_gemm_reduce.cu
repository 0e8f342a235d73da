// CORPUS run=2,4
// A matrix product whose partial results are reduced in pieces as soon as each is computed
// (tensor parallelism), with one event for each piece.
//
// DEFECT SHARED_EVENT data_race: one event for all pieces, recorded before the last of them
// DEFECT WRONG_PIECE data_race: reduces the piece that is being computed
// DEFECT NO_FINAL_WAIT readback_before_sync: the host waits for the products, not for the sums
// DEFECT PIECE_ORDER collective_mismatch: the last rank gives the pieces of different sizes in turn
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

struct Context {
  int rank = 0, ranks = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t compute = nullptr, network = nullptr;
};

#define CALL(x)                                                                 \
  do {                                                                          \
    if (auto result_ = (x)) {                                                   \
      std::fprintf(stderr, "%s = %d at line %d\n", #x, (int)result_, __LINE__); \
      MPI_Abort(MPI_COMM_WORLD, 2);                                             \
    }                                                                           \
  } while (0)

const int M = 24, N = 16, K = 8;                // K is split over the ranks
const int kFirst[] = {0, 10, 18, 24};           // rows of each piece
const int kPieces = 3;

__host__ __device__ int a_value(int row, int k) { return (row * 3 + k) % 7 - 3; }
__host__ __device__ int b_value(int k, int col) { return (k * 5 + col) % 6 - 2; }

__global__ void product(int* c, int first, int last, int k0) {
  const int row = first + blockIdx.x, col = threadIdx.x;
  int sum = 0;
  for (int k = k0; k < k0 + K; ++k) sum += a_value(row, k) * b_value(k, col);
  // EXPECT SHARED_EVENT WRONG_PIECE
  if (row < last) c[row * N + col] = sum;
}

static void run(Context& cx, int* c) {
  cudaEvent_t done[kPieces];
  for (cudaEvent_t& e : done) CALL(cudaEventCreate(&e));
  for (int p = 0; p < kPieces; ++p) {
#if defined(DEFECT_SHARED_EVENT)
    if (p == 0) CALL(cudaEventRecord(done[0], cx.compute));
#endif
    product<<<kFirst[p + 1] - kFirst[p], N, 0, cx.compute>>>(c, kFirst[p], kFirst[p + 1], cx.rank * K);
    CALL(cudaGetLastError());
#if !defined(DEFECT_SHARED_EVENT)
    CALL(cudaEventRecord(done[p], cx.compute));
#endif
  }
  for (int i = 0; i < kPieces; ++i) {
    int p = i, event = i;
#if defined(DEFECT_SHARED_EVENT)
    event = 0;
#elif defined(DEFECT_WRONG_PIECE)
    p = kPieces - 1 - i;
#elif defined(DEFECT_PIECE_ORDER)
    if (cx.rank == cx.ranks - 1) p = event = kPieces - 1 - i;
#endif
    CALL(cudaStreamWaitEvent(cx.network, done[event], 0));
    int* piece = c + kFirst[p] * N;
    const int count = (kFirst[p + 1] - kFirst[p]) * N;
    // EXPECT SHARED_EVENT WRONG_PIECE PIECE_ORDER
    CALL(ncclAllReduce(piece, piece, count, ncclInt, ncclSum, cx.comm, cx.network));
  }
  for (cudaEvent_t e : done) CALL(cudaEventDestroy(e));
}

int main(int argc, char** argv) {
  Context cx;
  CALL(MPI_Init(&argc, &argv));
  CALL(MPI_Comm_rank(MPI_COMM_WORLD, &cx.rank));
  CALL(MPI_Comm_size(MPI_COMM_WORLD, &cx.ranks));
  CALL(cudaSetDevice(cx.rank));
  ncclUniqueId id{};
  if (cx.rank == 0) CALL(ncclGetUniqueId(&id));
  CALL(MPI_Bcast(&id, sizeof(id), MPI_CHAR, 0, MPI_COMM_WORLD));
  CALL(ncclCommInitRank(&cx.comm, cx.ranks, id, cx.rank));
  int least, greatest;
  CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CALL(cudaStreamCreateWithPriority(&cx.compute, cudaStreamNonBlocking, least));
  CALL(cudaStreamCreateWithPriority(&cx.network, cudaStreamNonBlocking, greatest));
  int *c, *host;
  CALL(cudaMalloc(&c, M * N * sizeof(int)));
  CALL(cudaMallocHost(&host, M * N * sizeof(int)));
  run(cx, c);
  // EXPECT NO_FINAL_WAIT
  CALL(cudaMemcpyAsync(host, c, M * N * sizeof(int), cudaMemcpyDeviceToHost, cx.network));
#if defined(DEFECT_NO_FINAL_WAIT)
  CALL(cudaStreamSynchronize(cx.compute));
#else
  CALL(cudaStreamSynchronize(cx.network));
#endif
  int wrong = 0;
  for (int row = 0; row < M; ++row) {
    for (int col = 0; col < N; ++col) {
      int want = 0;
      for (int k = 0; k < K * cx.ranks; ++k) want += a_value(row, k) * b_value(k, col);
      // EXPECT NO_FINAL_WAIT
      wrong += host[row * N + col] != want;
    }
  }
  CALL(cudaDeviceSynchronize());
  CALL(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CALL(cudaFree(c));
  CALL(cudaFreeHost(host));
  CALL(cudaStreamDestroy(cx.compute));
  CALL(cudaStreamDestroy(cx.network));
  CALL(ncclCommDestroy(cx.comm));
  CALL(MPI_Finalize());
  if (cx.rank == 0) std::printf("%d of %d wrong\n", wrong, M * N);
  return wrong != 0;
}
