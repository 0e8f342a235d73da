// CORPUS run=2,4
// Every rank sends each other one a list of its own length, in blocks of the greatest length: what is
// behind a list is never written, travels along and is never used.
//
// DEFECT WHOLE_BLOCK uninitialized_read: adds the whole block that came, not the list in it
// DEFECT SHORT_LIST uninitialized_read: packs one element less than it says
// DEFECT NO_LENGTHS uninitialized_read: the lengths of the own lists are not filled in
// DEFECT OPEN_SUM uninitialized_read: reduces over more sums than a kernel has made
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cstdio>
#include <vector>

#define OK(call)                                                \
  do {                                                          \
    auto status = (call);                                       \
    if (static_cast<int>(status) != 0) {                        \
      std::printf("line %d: status %d\n", __LINE__, (int)status); \
      MPI_Abort(MPI_COMM_WORLD, 3);                             \
    }                                                           \
  } while (0)

constexpr int kMost = 48;

__host__ __device__ int length_of(int from, int to) { return 8 + (3 * from + 5 * to) % (kMost - 8); }
__host__ __device__ float element(int from, int to, int i) { return from + 0.25f * to + i; }

__global__ void pack(float* lists, int* lengths, int rank) {
  const int to = blockIdx.x;
#ifdef DEFECT_SHORT_LIST
  const int count = length_of(rank, to) - 1;
#else
  const int count = length_of(rank, to);
#endif
  for (int i = threadIdx.x; i < count; i += blockDim.x) lists[to * kMost + i] = element(rank, to, i);
#ifdef DEFECT_NO_LENGTHS
  if (threadIdx.x == 0 && to != rank) lengths[to] = length_of(rank, to);
#else
  if (threadIdx.x == 0) lengths[to] = length_of(rank, to);
#endif
}

__global__ void unpack(const float* lists, const int* lengths, float* sums) {
  const int from = blockIdx.x;
  if (threadIdx.x != 0) return;
#ifdef DEFECT_WHOLE_BLOCK
  const int count = kMost;
#else
  // EXPECT NO_LENGTHS
  const int count = lengths[from];
#endif
  float sum = 0;
  // EXPECT WHOLE_BLOCK SHORT_LIST NO_LENGTHS
  for (int i = 0; i < count; i++) sum += lists[from * kMost + i];
  sums[from] = sum;
}

int main(int argc, char** argv) {
  int rank, ranks;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  OK(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) OK(ncclGetUniqueId(&id));
  OK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  ncclComm_t comm;
  OK(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));

  float *out, *in, *sums;
  int *lengths, *sizes;
  const size_t bytes = sizeof(float) * kMost * ranks;
  OK(cudaMalloc(&out, bytes));
  OK(cudaMalloc(&in, bytes));
  OK(cudaMalloc(&sums, 2 * ranks * sizeof(float)));
  OK(cudaMalloc(&lengths, ranks * sizeof(int)));
  OK(cudaMalloc(&sizes, ranks * sizeof(int)));

  pack<<<ranks, 32, 0, stream>>>(out, lengths, rank);
  OK(cudaGetLastError());
  OK(ncclGroupStart());
  for (int peer = 0; peer < ranks; peer++) {
    OK(ncclSend(lengths + peer, 1, ncclInt32, peer, comm, stream));
    OK(ncclRecv(sizes + peer, 1, ncclInt32, peer, comm, stream));
  }
  OK(ncclGroupEnd());
  OK(ncclGroupStart());
  for (int peer = 0; peer < ranks; peer++) {
    OK(ncclSend(out + peer * kMost, kMost, ncclFloat32, peer, comm, stream));
    OK(ncclRecv(in + peer * kMost, kMost, ncclFloat32, peer, comm, stream));
  }
  OK(ncclGroupEnd());
  unpack<<<ranks, 32, 0, stream>>>(in, sizes, sums);
  OK(cudaGetLastError());

#ifdef DEFECT_OPEN_SUM
  const int made = ranks + 1;
#else
  const int made = ranks;
#endif
  // EXPECT OPEN_SUM
  OK(ncclAllReduce(sums, sums, made, ncclFloat32, ncclSum, comm, stream));
  std::vector<float> total(made);
  OK(cudaMemcpyAsync(total.data(), sums, made * sizeof(float), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));

  // sums[s]: what rank s sent to all.
  bool right = true;
  float all = 0, want_all = 0;
  for (int s = 0; s < made; s++) all += total[s];
  for (int s = 0; s < ranks; s++) {
    float want = 0;
    for (int to = 0; to < ranks; to++) {
      for (int i = 0; i < length_of(s, to); i++) want += element(s, to, i);
    }
    right &= total[s] == want;
    want_all += want;
  }
  right &= all == want_all;
  std::printf("rank %d: %s\n", rank, right ? "right" : "WRONG");

  OK(cudaFree(out));
  OK(cudaFree(in));
  OK(cudaFree(sums));
  OK(cudaFree(lengths));
  OK(cudaFree(sizes));
  OK(cudaStreamDestroy(stream));
  OK(ncclCommDestroy(comm));
  OK(MPI_Finalize());
  return right ? 0 : 1;
}
