// CORPUS run=2,4
// Blocks are packed by a kernel for each peer and sent, within one group of NCCL; what came is unpacked
// behind it. The same once more as a graph.
//
// DEFECT INSIDE group_unclosed: the blocks that came are unpacked before the group is closed
// DEFECT CLEARED group_unclosed: the buffer is cleared for the next step before the group is closed
// DEFECT GONE use_after_destroy: the graph is launched once more when its communicator is gone
#include "harness.h"

constexpr int kBlock = 32;

__global__ void pack(int* out, int rank, int peer) { out[threadIdx.x] = rank * 100 + peer * 10 + threadIdx.x % 7; }
// EXPECT INSIDE
__global__ void unpack(int* sums, const int* in, int ranks) {
  int sum = 0;
  for (int peer = 0; peer < ranks; ++peer) sum += in[peer * kBlock + threadIdx.x];
  sums[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  ncclComm_t comm;
  CHECK(ncclCommSplit(job.comm, 0, job.rank, &comm, nullptr));
  int *out, *in, *sums;
  const std::size_t bytes = job.ranks * kBlock * sizeof(int);
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&sums, kBlock * sizeof(int)));
  CHECK(cudaMemsetAsync(in, 0, bytes, job.stream));
  const auto exchange = [&] {
    CHECK(ncclGroupStart());
    for (int peer = 0; peer < job.ranks; ++peer) {
      // The call of the peer before is on the stream behind all of these: they touch other bytes.
      pack<<<1, kBlock, 0, job.stream>>>(out + peer * kBlock, job.rank, peer);
      CHECK(ncclSend(out + peer * kBlock, kBlock, ncclInt, peer, comm, job.stream));
      CHECK(ncclRecv(in + peer * kBlock, kBlock, ncclInt, peer, comm, job.stream));
    }
#ifdef DEFECT_INSIDE
    // EXPECT INSIDE
    unpack<<<1, kBlock, 0, job.stream>>>(sums, in, job.ranks);
#endif
#ifdef DEFECT_CLEARED
    // EXPECT CLEARED
    CHECK(cudaMemsetAsync(out, 0, bytes, job.stream));
#endif
    CHECK(ncclGroupEnd());
#ifndef DEFECT_INSIDE
    unpack<<<1, kBlock, 0, job.stream>>>(sums, in, job.ranks);
#endif
    CHECK(cudaGetLastError());
  };
  exchange();
  bool good = true;
  std::vector<int> got(kBlock);
  CHECK(cudaMemcpyAsync(got.data(), sums, kBlock * sizeof(int), cudaMemcpyDeviceToHost, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  for (int i = 0; i < kBlock; ++i) {
    int sum = 0;
    for (int peer = 0; peer < job.ranks; ++peer) sum += peer * 100 + job.rank * 10 + i % 7;
    good = good && got[i] == sum;
  }
#if !defined(DEFECT_INSIDE) && !defined(DEFECT_CLEARED)
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(job.stream, cudaStreamCaptureModeThreadLocal));
  exchange();
  CHECK(cudaStreamEndCapture(job.stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  CHECK(cudaGraphLaunch(ready, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
#ifdef DEFECT_GONE
  CHECK(ncclCommDestroy(comm));
  // EXPECT GONE
  CHECK(cudaGraphLaunch(ready, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
#endif
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
#endif
#ifndef DEFECT_GONE
  CHECK(ncclCommDestroy(comm));
#endif
  CHECK(cudaFree(out));
  CHECK(cudaFree(in));
  CHECK(cudaFree(sums));
  return finish(job, good);
}
