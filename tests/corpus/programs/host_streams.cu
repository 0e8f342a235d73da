// CORPUS run=2,4
// Two non-blocking streams: a kernel fills, a collective on the other stream reduces, a kernel on
// the first consumes; events carry the order from one stream to the other, for several rounds.
//
// DEFECT NO_READY_EVENT data_race: the collective may read what the kernel still writes
// DEFECT NO_DONE_EVENT data_race: the consumer may read before the collective is done
// DEFECT EVENT_TOO_EARLY data_race: the event is recorded before the kernel that it stands for
// DEFECT NO_SYNC readback_before_sync: the host reads while the copy may still be under way
// DEFECT PLAIN_COPY data_race: cudaMemcpy does not wait for a non-blocking
// stream
#include "harness.h"

constexpr int kInts = 64, kRounds = 2;

__global__ void fill(int* data, int rank, int round) {
  // EXPECT NO_READY_EVENT EVENT_TOO_EARLY
  data[threadIdx.x] = value(rank, 0, threadIdx.x, round) % 1000;
}

__global__ void twice(const int* in, int* out) {
  // EXPECT NO_DONE_EVENT PLAIN_COPY
  out[threadIdx.x] = 2 * in[threadIdx.x];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  cudaStream_t compute, comm;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&comm, cudaStreamNonBlocking));
  cudaEvent_t ready, done;
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  int *data, *sum, *out, *host;
  CHECK(cudaMalloc(&data, kInts * sizeof(int)));
  CHECK(cudaMalloc(&sum, kInts * sizeof(int)));
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));
  CHECK(cudaMallocHost(&host, kInts * sizeof(int)));

  bool good = true;
  for (int round = 0; round < kRounds; ++round) {
#if defined(DEFECT_EVENT_TOO_EARLY)
    CHECK(cudaEventRecord(ready, compute));
#endif
    fill<<<1, kInts, 0, compute>>>(data, job.rank, round);
    CHECK(cudaGetLastError());
#if !defined(DEFECT_EVENT_TOO_EARLY)
    CHECK(cudaEventRecord(ready, compute));
#endif
#if !defined(DEFECT_NO_READY_EVENT)
    CHECK(cudaStreamWaitEvent(comm, ready, 0));
#endif
    // EXPECT NO_READY_EVENT EVENT_TOO_EARLY NO_DONE_EVENT
    CHECK(ncclAllReduce(data, sum, kInts, ncclInt32, ncclSum, job.comm, comm));
    CHECK(cudaEventRecord(done, comm));
#if !defined(DEFECT_NO_DONE_EVENT)
    CHECK(cudaStreamWaitEvent(compute, done, 0));
#endif
    twice<<<1, kInts, 0, compute>>>(sum, out);
    CHECK(cudaGetLastError());
#if defined(DEFECT_PLAIN_COPY)
    // EXPECT PLAIN_COPY
    CHECK(cudaMemcpy(host, out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
#else
    CHECK(cudaMemcpyAsync(host, out, kInts * sizeof(int), cudaMemcpyDeviceToHost, compute));
#endif
#if !defined(DEFECT_NO_SYNC) && !defined(DEFECT_PLAIN_COPY)
    CHECK(cudaStreamSynchronize(compute));
#endif
    for (int i = 0; i < kInts; ++i) {
      int expected = 0;
      for (int r = 0; r < job.ranks; ++r) expected += value(r, 0, i, round) % 1000;
      // EXPECT NO_SYNC
      good = good && host[i] == 2 * expected;
    }
  }
  CHECK(cudaDeviceSynchronize());

  CHECK(cudaEventDestroy(ready));
  CHECK(cudaEventDestroy(done));
  CHECK(cudaStreamDestroy(compute));
  CHECK(cudaStreamDestroy(comm));
  CHECK(cudaFree(data));
  CHECK(cudaFree(sum));
  CHECK(cudaFree(out));
  CHECK(cudaFreeHost(host));
  return finish(job, good);
}
