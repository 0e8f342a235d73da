// CORPUS run=2,4
// All-gather and matrix product in one kernel: the first warp moves chunks, each with a signal of
// its own, the other warps multiply with a chunk as soon as it has come.
//
// DEFECT WRONG_SIGNAL missing_wait: a warp waits for the signal of the chunk before
// DEFECT WARP_ONE_WAITS missing_wait: one warp waits, and nothing tells the others
// DEFECT LANE_WAITS partial_coop: some lanes of the warp leave before its wait
// DEFECT SIGNALS_SHORT signal_index: there are fewer signals than chunks
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <array>
#include <cstdio>
#include <vector>

using Signal = ncclGinSignal_t;
constexpr int kChunks = 3, kRows = 8, kCols = 16, kWarps = 4;
constexpr int kChunk = kRows * kCols;

struct Args {
  ncclDevComm dev;
  ncclWindow_t shard, full;
  const int* vector;
  int* result;
};

__device__ void move_chunks(const Args& a, const ncclGin& gin) {
  ncclTeam world = ncclTeamWorld(a.dev);
  const size_t bytes = kChunk * sizeof(int);
  for (int c = 0; c < kChunks; ++c) {
    for (int step = 0; step < world.nRanks; ++step) {
      const int peer = (world.rank + step) % world.nRanks;
      const size_t target = (size_t(world.rank) * kChunks + c) * bytes;
      // EXPECT SIGNALS_SHORT
      gin.put(world, peer, a.full, target, a.shard, c * bytes, bytes, ncclGin_WeakSignalInc{Signal(c)}, ncclGin_None{}, ncclCoopWarp{});
    }
  }
}

__global__ void gather_multiply(Args a) {
  ncclGin gin(a.dev, 0);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, ranks = a.dev.nRanks;
  if (warp == 0) {
    move_chunks(a, gin);
    gin.flush(ncclCoopWarp{});
    return;
  }
  const int* full = static_cast<const int*>(ncclGetLocalPointer(a.full, 0));
  for (int c = 0; c < kChunks; ++c) {
#if defined(DEFECT_LANE_WAITS)
    if (lane >= kRows) continue;
    // EXPECT LANE_WAITS
    gin.waitSignal(ncclCoopWarp{}, c, ranks);
#elif defined(DEFECT_WRONG_SIGNAL)
    gin.waitSignal(ncclCoopWarp{}, c > 0 ? c - 1 : c, ranks);
#elif defined(DEFECT_WARP_ONE_WAITS)
    if (warp == 1) gin.waitSignal(ncclCoopWarp{}, c, ranks);
#else
    // EXPECT SIGNALS_SHORT
    gin.waitSignal(ncclCoopWarp{}, c, ranks);
#endif
    for (int owner = warp - 1; owner < ranks; owner += kWarps - 1) {
      if (lane >= kRows) continue;
      const int row = (owner * kChunks + c) * kRows + lane;
      int sum = 0;
      for (int k = 0; k < kCols; ++k) {
        // EXPECT WRONG_SIGNAL WARP_ONE_WAITS
        sum += full[row * kCols + k] * a.vector[k];
      }
      a.result[row] = sum;
    }
  }
}

static void ensure(int status, const char* what, int line) {
  if (status == 0) return;
  std::fprintf(stderr, "%d: %s gave %d\n", line, what, status);
  MPI_Abort(MPI_COMM_WORLD, status);
}
#define ENSURE(x) ensure(static_cast<int>(x), #x, __LINE__)

static int weight(int row, int k) { return (row * 11 + k * 7) % 19 - 9; }

int main(int argc, char** argv) {
  ENSURE(MPI_Init(&argc, &argv));
  int rank, ranks;
  ENSURE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  ENSURE(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  ENSURE(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) ENSURE(ncclGetUniqueId(&id));
  ENSURE(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  ENSURE(ncclCommInitRank(&comm, ranks, id, rank));

  Args a;
  void *shard, *full;
  int *vector, *result;
  const size_t shard_bytes = kChunks * kChunk * sizeof(int);
  ENSURE(ncclMemAlloc(&shard, shard_bytes));
  ENSURE(ncclMemAlloc(&full, ranks * shard_bytes));
  ENSURE(ncclCommWindowRegister(comm, shard, shard_bytes, &a.shard, NCCL_WIN_COLL_SYMMETRIC));
  ENSURE(ncclCommWindowRegister(comm, full, ranks * shard_bytes, &a.full, NCCL_WIN_COLL_SYMMETRIC));
  ENSURE(cudaMalloc(&vector, kCols * sizeof(int)));
  ENSURE(cudaMalloc(&result, ranks * kChunks * kRows * sizeof(int)));
  std::vector<int> mine(kChunks * kChunk), v(kCols), got(ranks * kChunks * kRows);
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = weight(rank * kChunks * kRows + int(i) / kCols, int(i) % kCols);
  for (int k = 0; k < kCols; ++k) v[k] = k - 5;
  ENSURE(cudaMemcpy(shard, mine.data(), shard_bytes, cudaMemcpyHostToDevice));
  ENSURE(cudaMemcpy(vector, v.data(), kCols * sizeof(int), cudaMemcpyHostToDevice));
  a.vector = vector;
  a.result = result;

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#if defined(DEFECT_SIGNALS_SHORT)
  reqs.ginSignalCount = 1;
#else
  reqs.ginSignalCount = kChunks;
#endif
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ENSURE(ncclDevCommCreate(comm, &reqs, &a.dev));
  gather_multiply<<<1, kWarps * 32>>>(a);
  ENSURE(cudaGetLastError());
  ENSURE(cudaDeviceSynchronize());
  ENSURE(cudaMemcpy(got.data(), result, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int row = 0; row < ranks * kChunks * kRows; ++row) {
    int want = 0;
    for (int k = 0; k < kCols; ++k) want += weight(row, k) * v[k];
    wrong += got[row] != want;
  }
  ENSURE(MPI_Barrier(MPI_COMM_WORLD));
  ENSURE(ncclDevCommDestroy(comm, &a.dev));
  ENSURE(ncclCommWindowDeregister(comm, a.full));
  ENSURE(ncclCommWindowDeregister(comm, a.shard));
  ENSURE(ncclMemFree(full));
  ENSURE(ncclMemFree(shard));
  ENSURE(cudaFree(vector));
  ENSURE(cudaFree(result));
  ENSURE(ncclCommDestroy(comm));
  int all = 0;
  ENSURE(MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) std::printf("%d rows differ\n", all);
  ENSURE(MPI_Finalize());
  return wrong != 0;
}
