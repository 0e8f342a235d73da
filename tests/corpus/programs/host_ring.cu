// CORPUS run=2,4,8
// A ring of grouped sends and receives, then a grouped exchange of all with all.
//
// DEFECT NO_GROUP deadlock: every rank sends first, and a send waits for its receive
// DEFECT GROUP_UNCLOSED group_unclosed: the second group never ends
// DEFECT COUNT collective_mismatch: sends more than its peer expects to receive
// DEFECT WRONG_PEER deadlock run=4: receives from the rank that it sends to
// DEFECT AFTER_DESTROY use_after_destroy: the communicator is gone
#include "harness.h"

constexpr int kInts = 16;

__global__ void fill(int* send, int rank, int ranks, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < ranks * kInts) send[i] = value(rank, i / kInts, i % kInts, round);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int n = job.ranks, total = n * kInts;
  const int next = (job.rank + 1) % n, previous = (job.rank + n - 1) % n;
  int *send, *recv;
  CHECK(cudaMalloc(&send, total * sizeof(int)));
  CHECK(cudaMalloc(&recv, total * sizeof(int)));
  std::vector<int> got(total);
  bool good = true;

  fill<<<n, kInts, 0, job.stream>>>(send, job.rank, n, 0);
  CHECK(cudaGetLastError());
  size_t count = kInts;
  int from = previous;
#if defined(DEFECT_COUNT)
  count += job.rank == 0 ? 1 : 0;
#elif defined(DEFECT_WRONG_PEER)
  from = next;
#endif
#if !defined(DEFECT_NO_GROUP)
  CHECK(ncclGroupStart());
#endif
  // EXPECT NO_GROUP COUNT WRONG_PEER
  CHECK(ncclSend(send + next * kInts, count, ncclInt32, next, job.comm, job.stream));
  // EXPECT NO_GROUP COUNT WRONG_PEER
  CHECK(ncclRecv(recv, kInts, ncclInt32, from, job.comm, job.stream));
#if !defined(DEFECT_NO_GROUP)
  // EXPECT WRONG_PEER COUNT
  CHECK(ncclGroupEnd());
#endif
  CHECK(cudaMemcpyAsync(got.data(), recv, kInts * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
  // EXPECT NO_GROUP WRONG_PEER
  CHECK(cudaStreamSynchronize(job.stream));
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(previous, job.rank, i, 0);

  fill<<<n, kInts, 0, job.stream>>>(send, job.rank, n, 1);
  CHECK(cudaGetLastError());
  // EXPECT GROUP_UNCLOSED
  CHECK(ncclGroupStart());
  for (int peer = 0; peer < n; ++peer) {
    CHECK(ncclSend(send + peer * kInts, kInts, ncclInt32, peer, job.comm, job.stream));
    CHECK(ncclRecv(recv + peer * kInts, kInts, ncclInt32, peer, job.comm, job.stream));
  }
#if !defined(DEFECT_GROUP_UNCLOSED)
  CHECK(ncclGroupEnd());
#endif
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(cudaMemcpy(got.data(), recv, total * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < total; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 1);
  }
#if defined(DEFECT_AFTER_DESTROY)
  CHECK(ncclCommDestroy(job.comm));
  // EXPECT AFTER_DESTROY
  CHECK(ncclAllReduce(send, recv, kInts, ncclInt32, ncclSum, job.comm, job.stream));
  job.comm = nullptr;
#endif

  CHECK(cudaFree(send));
  CHECK(cudaFree(recv));
  return finish(job, good);
}
