// CORPUS run=2,4
// Ring attention in miniature: each step multiplies with the block at hand while the next block
// comes from the neighbor on another stream, through two buffers in turn.
//
// DEFECT NO_RECV_EVENT data_race: the next block is used before it has come
// DEFECT NO_USED_EVENT data_race run=4: the neighbor's block lands on the one that is still in use
// DEFECT ONE_BUFFER data_race: receives into the block that is being sent
// DEFECT UNGROUPED deadlock: send and receive of one step outside of a group
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

template <typename T>
void verify(T status, const char* file, int line) {
  if (static_cast<int>(status) == 0) return;
  std::fprintf(stderr, "%s:%d: status %d\n", file, line, static_cast<int>(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define V(x) verify((x), __FILE__, __LINE__)

constexpr int kRows = 8, kDim = 16;

__host__ __device__ float key(int owner, int row, int d) { return float((owner * 7 + row * 3 + d) % 9 - 4); }

__global__ void init(float* q, float* kv, float* acc, int rank) {
  const int row = threadIdx.y, d = threadIdx.x;
  q[row * kDim + d] = float((rank + row + d) % 5 - 2);
  kv[row * kDim + d] = key(rank, row, d);
  acc[row * kDim + d] = 0;
}

// acc += (q k^T) k, without the softmax: order of blocks must not matter to the check
__global__ void attend(const float* q, const float* kv, float* acc) {
  __shared__ float score[kRows][kRows];
  const int row = threadIdx.y, d = threadIdx.x;
  if (d < kRows) {
    float s = 0;
    for (int e = 0; e < kDim; ++e) {
      // EXPECT NO_RECV_EVENT NO_USED_EVENT ONE_BUFFER
      s += q[row * kDim + e] * kv[d * kDim + e];
    }
    score[row][d] = s;
  }
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < kRows; ++r) {
    // EXPECT NO_RECV_EVENT NO_USED_EVENT ONE_BUFFER
    sum += score[row][r] * kv[r * kDim + d];
  }
  acc[row * kDim + d] += sum;
}

int main(int argc, char** argv) {
  int rank, n;
  V(MPI_Init(&argc, &argv));
  V(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  V(MPI_Comm_size(MPI_COMM_WORLD, &n));
  V(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) V(ncclGetUniqueId(&id));
  V(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  V(ncclCommInitRank(&comm, n, id, rank));

  const size_t elements = kRows * kDim, bytes = elements * sizeof(float);
  float *q, *acc;
  std::array<float*, 2> kv;
  V(cudaMalloc(&q, bytes));
  V(cudaMalloc(&acc, bytes));
  for (float*& p : kv) V(cudaMalloc(&p, bytes));
  cudaStream_t compute, move;
  cudaEvent_t arrived, used;
  V(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  V(cudaStreamCreateWithFlags(&move, cudaStreamNonBlocking));
  V(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));
  V(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  const dim3 block(kDim, kRows);
  init<<<1, block, 0, compute>>>(q, kv[0], acc, rank);
  V(cudaGetLastError());
  V(cudaEventRecord(used, compute));
  V(cudaStreamWaitEvent(move, used, 0));

  for (int step = 0; step < n; ++step) {
    float *now = kv[step % 2], *next = kv[(step + 1) % 2];
#if defined(DEFECT_ONE_BUFFER)
    next = now = kv[0];
#endif
    if (step + 1 < n) {
#if !defined(DEFECT_UNGROUPED)
      V(ncclGroupStart());
#endif
      // EXPECT NO_USED_EVENT UNGROUPED NO_RECV_EVENT ONE_BUFFER
      V(ncclSend(now, elements, ncclFloat, (rank + 1) % n, comm, move));
      // EXPECT NO_USED_EVENT UNGROUPED NO_RECV_EVENT ONE_BUFFER
      V(ncclRecv(next, elements, ncclFloat, (rank + n - 1) % n, comm, move));
#if !defined(DEFECT_UNGROUPED)
      // EXPECT NO_USED_EVENT ONE_BUFFER NO_RECV_EVENT
      V(ncclGroupEnd());
#endif
      V(cudaEventRecord(arrived, move));
    }
    attend<<<1, block, 0, compute>>>(q, now, acc);
    V(cudaGetLastError());
#if !defined(DEFECT_NO_USED_EVENT)
    V(cudaEventRecord(used, compute));
    V(cudaStreamWaitEvent(move, used, 0));
#endif
#if !defined(DEFECT_NO_RECV_EVENT)
    V(cudaStreamWaitEvent(compute, arrived, 0));
#endif
  }
  std::vector<float> got(elements);
  V(cudaMemcpyAsync(got.data(), acc, bytes, cudaMemcpyDeviceToHost, compute));
  V(cudaStreamSynchronize(compute));
  V(cudaStreamSynchronize(move));
  int wrong = 0, total = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int d = 0; d < kDim; ++d) {
      float want = 0;
      for (int owner = 0; owner < n; ++owner) {
        for (int r = 0; r < kRows; ++r) {
          float s = 0;
          for (int e = 0; e < kDim; ++e) s += float((rank + row + e) % 5 - 2) * key(owner, r, e);
          want += s * key(owner, r, d);
        }
      }
      wrong += got[row * kDim + d] != want;
    }
  }
  V(MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  V(cudaEventDestroy(arrived));
  V(cudaEventDestroy(used));
  V(cudaStreamDestroy(compute));
  V(cudaStreamDestroy(move));
  for (float* p : {q, acc, kv[0], kv[1]}) V(cudaFree(p));
  V(ncclCommDestroy(comm));
  V(MPI_Finalize());
  if (rank == 0) std::printf("%d wrong\n", total);
  return total != 0;
}
