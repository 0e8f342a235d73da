// CORPUS run=2,4
// One kernel sends several chunks to the next rank from one staging buffer; a local counter tells
// when a chunk has left, so that the buffer may be filled again.
//
// DEFECT NO_COUNTER_WAIT source_reuse: the next chunk overwrites the source of the last put
// DEFECT COUNTER_IS_LOCAL missing_wait: a counter says that the source left, not what has arrived
// DEFECT COUNTER_INDEX counter_index: one counter was requested, so its index is 0
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kChunks = 4, kThreads = 32;

#if defined(DEFECT_COUNTER_INDEX)
constexpr ncclGinCounter_t kLeft = 1;
#else
constexpr ncclGinCounter_t kLeft = 0;
#endif

__global__ void stream_chunks(ncclDevComm dev, ncclWindow_t stage, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  int next = (world.rank + 1) % world.nRanks;
  int* staged = static_cast<int*>(ncclGetLocalPointer(stage, 0));
  const size_t bytes = kInts * sizeof(int);
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
      // EXPECT NO_COUNTER_WAIT
      staged[i] = value(world.rank, next, i, chunk);
    }
    // EXPECT COUNTER_INDEX
    gin.put(world, next, recv, chunk * bytes, stage, 0, bytes, ncclGin_WeakSignalInc{0},
            ncclGin_WeakCounterInc{kLeft}, ncclCoopCta());
#if !defined(DEFECT_NO_COUNTER_WAIT)
    gin.waitCounter(ncclCoopCta(), kLeft, chunk + 1);
#endif
  }
#if !defined(DEFECT_COUNTER_IS_LOCAL)
  gin.waitSignal(ncclCoopCta(), 0, kChunks);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT COUNTER_IS_LOCAL
  for (int i = threadIdx.x; i < kChunks * kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> stage = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, kChunks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, kChunks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginCounterCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  stream_chunks<<<1, kThreads, 0, job.stream>>>(dev, stage.window, recv.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kChunks * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kChunks * kInts; ++i) {
    good = good && got[i] == value(previous, job.rank, i % kInts, i / kInts);
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, stage);
  return finish(job, good);
}
