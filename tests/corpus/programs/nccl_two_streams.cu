// CORPUS run=2,3
// One communicator on two streams: NCCL runs its operations one after the other, and a group waits
// for all of its streams and holds them all. What is on no stream of a group is ordered by events.
//
// DEFECT THIRD_STREAM data_race: the sum is read on a stream that is in no group
// DEFECT AFTER_GROUP data_race: the block is changed on a stream of its own while it is sent
// DEFECT ONE_BUFFER overlapping_buffers: both halves of a group receive into one buffer
// DEFECT BEFORE_GROUP data_race: the block is made on a stream that the operation does not wait for
#include "harness.h"

__global__ void make(float* block, float first) {
  // EXPECT BEFORE_GROUP AFTER_GROUP
  block[threadIdx.x] = first + static_cast<float>(threadIdx.x);
}

__global__ void add(float* to, const float* from) {
  // EXPECT THIRD_STREAM
  to[threadIdx.x] += from[threadIdx.x];
}

constexpr int kCount = 64;

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int next = (job.rank + 1) % job.ranks, last = (job.rank + job.ranks - 1) % job.ranks;
  cudaStream_t other, third;
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
  float *block, *sum, *got[2];
  for (float** p : {&block, &sum, &got[0], &got[1]}) CHECK(cudaMalloc(p, kCount * sizeof(float)));
  CHECK(cudaMemset(block, 0, kCount * sizeof(float)));
  CHECK(cudaDeviceSynchronize());

  // Made on one stream, sent on the other: the operation in between is the communicator's.
#if defined(DEFECT_BEFORE_GROUP)
  make<<<1, kCount, 0, third>>>(block, job.rank);
#else
  make<<<1, kCount, 0, other>>>(block, job.rank);
#endif
  CHECK(cudaGetLastError());
  // EXPECT BEFORE_GROUP THIRD_STREAM AFTER_GROUP
  CHECK(ncclAllReduce(block, sum, kCount, ncclFloat, ncclSum, job.comm, other));
  CHECK(ncclGroupStart());
  // EXPECT BEFORE_GROUP AFTER_GROUP THIRD_STREAM
  CHECK(ncclSend(block, kCount, ncclFloat, next, job.comm, job.stream));
  // EXPECT ONE_BUFFER
  CHECK(ncclRecv(got[0], kCount, ncclFloat, last, job.comm, job.stream));
  CHECK(ncclGroupEnd());
#if defined(DEFECT_THIRD_STREAM)
  add<<<1, kCount, 0, third>>>(sum, got[0]);
#else
  add<<<1, kCount, 0, job.stream>>>(sum, got[0]);
#endif
  CHECK(cudaGetLastError());

  // A group over both streams: either one knows what came before on the other.
  CHECK(ncclGroupStart());
  // EXPECT AFTER_GROUP BEFORE_GROUP THIRD_STREAM
  CHECK(ncclSend(block, kCount, ncclFloat, next, job.comm, job.stream));
#if defined(DEFECT_ONE_BUFFER)
  got[1] = got[0];
#endif
  // EXPECT ONE_BUFFER
  CHECK(ncclRecv(got[0], kCount, ncclFloat, last, job.comm, job.stream));
  // EXPECT AFTER_GROUP
  CHECK(ncclSend(block, kCount, ncclFloat, last, job.comm, other));
  // EXPECT ONE_BUFFER
  CHECK(ncclRecv(got[1], kCount, ncclFloat, next, job.comm, other));
  CHECK(ncclGroupEnd());
#if defined(DEFECT_AFTER_GROUP)
  make<<<1, kCount, 0, third>>>(block, 0);
#else
  make<<<1, kCount, 0, other>>>(block, 0);
#endif
  CHECK(cudaGetLastError());
  add<<<1, kCount, 0, other>>>(sum, got[0]);
  CHECK(cudaGetLastError());

  // The same, captured: the graph's node comes behind both branches and ahead of both.
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  cudaEvent_t forked, joined;
  CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  CHECK(cudaEventRecord(joined, other));
  CHECK(cudaStreamWaitEvent(job.stream, joined, 0));
  CHECK(cudaStreamBeginCapture(job.stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(forked, job.stream));
  CHECK(cudaStreamWaitEvent(other, forked, 0));
  make<<<1, kCount, 0, other>>>(block, 1);
  CHECK(ncclGroupStart());
  // EXPECT AFTER_GROUP THIRD_STREAM
  CHECK(ncclSend(block, kCount, ncclFloat, next, job.comm, job.stream));
  CHECK(ncclRecv(got[0], kCount, ncclFloat, last, job.comm, other));
  CHECK(ncclGroupEnd());
  add<<<1, kCount, 0, job.stream>>>(sum, got[0]);
  CHECK(cudaEventRecord(joined, other));
  CHECK(cudaStreamWaitEvent(job.stream, joined, 0));
  CHECK(cudaStreamEndCapture(job.stream, &graph));
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  for (int round = 0; round < 2; round++) CHECK(cudaGraphLaunch(runs, job.stream));

  std::vector<float> host(kCount);
  CHECK(cudaStreamSynchronize(other));
  CHECK(cudaStreamSynchronize(third));
  CHECK(cudaMemcpyAsync(host.data(), sum, kCount * sizeof(float), cudaMemcpyDeviceToHost,
                        job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  bool good = true;
  for (int i = 0; i < kCount; i++) {
    const int all = job.ranks * (job.ranks - 1) / 2 + job.ranks * i;
    good = good && host[i] == static_cast<float>(all + 2 * (last + i) + 2 * (1 + i));
  }
  CHECK(cudaGraphExecDestroy(runs));
  CHECK(cudaGraphDestroy(graph));
  for (float* p : {block, sum, got[0]}) CHECK(cudaFree(p));
#if !defined(DEFECT_ONE_BUFFER)
  CHECK(cudaFree(got[1]));
#endif
  CHECK(cudaEventDestroy(forked));
  CHECK(cudaEventDestroy(joined));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaStreamDestroy(third));
  return finish(job, good);
}
