// CORPUS run=2,3
// Heat on a rod: each rank has a piece, and puts its edges into its neighbors' ghost cells. What
// is right is counted at rank 0, by accumulation.
//
// DEFECT NO_FENCE mpi_buffer_in_use|data_race: the next step begins before the edges are there
// DEFECT SWAPPED_LATE mpi_buffer_in_use: a kernel overwrites the edge that is still being put
// DEFECT TOO_FAR window_range: the ghost cell's place counts from 1
// DEFECT NO_EPOCH mpi_mismatch: nothing opens an epoch for the sum
// DEFECT LOCAL_FLUSH mpi_buffer_in_use: the others are told of a sum that has not arrived yet
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                                  \
  do {                                                                              \
    const cudaError_t code = (call);                                                \
    if (code != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code)); \
      MPI_Abort(MPI_COMM_WORLD, 2);                                                 \
    }                                                                               \
  } while (0)

constexpr int kCells = 32;  // of a rank, between two ghost cells
constexpr int kSteps = 4;

__global__ void step(double* next, const double* now) {
  const int i = threadIdx.x + 1;
  // EXPECT NO_FENCE
  next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

__global__ void copy_back(double* now, const double* next) {
  const int i = threadIdx.x + 1;
  // EXPECT SWAPPED_LATE
  now[i] = next[i];
}

double begin_at(int place) { return place % 7; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

  double *now, *next;
  CUDA(cudaMalloc(&now, (kCells + 2) * sizeof(double)));
  CUDA(cudaMalloc(&next, (kCells + 2) * sizeof(double)));
  std::vector<double> host(kCells + 2, 0.0);
  for (int i = 1; i <= kCells; i++) host[i] = begin_at(rank * kCells + i - 1);
  CUDA(cudaMemcpy(now, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));

  MPI_Win cells;
  MPI_Win_create(now, (kCells + 2) * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &cells);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, cells);
  for (int at = 0; at < kSteps; at++) {
#if defined(DEFECT_TOO_FAR)
    // EXPECT TOO_FAR
    MPI_Put(now + 1, 1, MPI_DOUBLE, left, kCells + 2, 1, MPI_DOUBLE, cells);
#else
    // EXPECT NO_FENCE SWAPPED_LATE
    MPI_Put(now + 1, 1, MPI_DOUBLE, left, kCells + 1, 1, MPI_DOUBLE, cells);
#endif
    // EXPECT NO_FENCE SWAPPED_LATE
    MPI_Put(now + kCells, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, cells);
#if defined(DEFECT_SWAPPED_LATE)
    copy_back<<<1, kCells>>>(now, next);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
#endif
#if !defined(DEFECT_NO_FENCE)
    MPI_Win_fence(0, cells);
#endif
    step<<<1, kCells>>>(next, now);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
#if defined(DEFECT_NO_FENCE)
    MPI_Win_fence(0, cells);
#endif
    MPI_Win_fence(0, cells);  // nobody puts into cells that somebody still reads
    copy_back<<<1, kCells>>>(now, next);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, cells);
  MPI_Win_free(&cells);
  CUDA(cudaMemcpy(host.data(), now, host.size() * sizeof(double), cudaMemcpyDeviceToHost));

  // The same on one rod.
  std::vector<double> rod(ranks * kCells + 2, 0.0), then(rod);
  for (int i = 0; i < ranks * kCells; i++) rod[i + 1] = begin_at(i);
  for (int at = 0; at < kSteps; at++) {
    for (int i = 1; i <= ranks * kCells; i++) {
      then[i] = rod[i] + 0.25 * (rod[i - 1] - 2 * rod[i] + rod[i + 1]);
    }
    rod.swap(then);
  }
  bool good = true;
  for (int i = 1; i <= kCells; i++) {
    const double off = host[i] - rod[rank * kCells + i];
    good = good && off < 1e-12 && off > -1e-12;
  }

  // How many are right, counted at rank 0, and a flag behind it.
  long* board;
  MPI_Win counts;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &board, &counts);
  board[0] = board[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const long one = good ? 1 : 0;
#if !defined(DEFECT_NO_EPOCH)
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counts);
#endif
  // EXPECT NO_EPOCH LOCAL_FLUSH
  MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, counts);
#if defined(DEFECT_LOCAL_FLUSH)
  MPI_Win_flush_local(0, counts);
#else
  MPI_Win_flush(0, counts);
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  long all = ranks;
  // EXPECT LOCAL_FLUSH
  if (rank == 0) all = board[0];
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock(0, counts);
  MPI_Win_free(&counts);
  good = good && all == ranks;
  CUDA(cudaFree(now));
  CUDA(cudaFree(next));
  if (!good) fprintf(stderr, "rank %d: wrong\n", rank);
  MPI_Finalize();
  return good ? 0 : 1;
}
