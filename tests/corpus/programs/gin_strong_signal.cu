// CORPUS run=2,4
// A payload put without a signal, then a header put whose strong signal covers both.
//
// DEFECT WEAK_SIGNAL missing_wait: a weak signal settles its own put, not the payload before it
// DEFECT LEGACY_WEAK missing_wait: SignalInc is weak where strong signals were not asked for
// DEFECT OTHER_CONTEXT missing_wait: a signal orders nothing on another context
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks) {
  int next = (rank + 1) % ranks;
  for (int i = threadIdx.x; i <= kInts; i += blockDim.x) {
    send[i] = i < kInts ? value(rank, next, i, 0) : kInts;  // the header is the payload's length
  }
}

__global__ void pass_on(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  int next = (world.rank + 1) % world.nRanks;
  const size_t header = kInts * sizeof(int);
  if (threadIdx.x == 0) {
    gin.put(world, next, recv, 0, send, 0, header);
#if defined(DEFECT_WEAK_SIGNAL)
    gin.put(world, next, recv, header, send, header, sizeof(int), ncclGin_WeakSignalInc{0});
#elif defined(DEFECT_LEGACY_WEAK)
    gin.put(world, next, recv, header, send, header, sizeof(int), ncclGin_SignalInc{0});
#elif defined(DEFECT_OTHER_CONTEXT)
    ncclGin other(dev, 1);
    other.put(world, next, recv, header, send, header, sizeof(int), ncclGin_StrongSignalInc{0});
#else
    gin.put(world, next, recv, header, send, header, sizeof(int), ncclGin_StrongSignalInc{0});
#endif
  }
#if defined(DEFECT_OTHER_CONTEXT)
  ncclGin(dev, 1).waitSignal(ncclCoopCta(), 0, 1);
#else
  gin.waitSignal(ncclCoopCta(), 0, 1);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  int length = in[kInts];
  for (int i = threadIdx.x; i < length; i += blockDim.x) {
    // EXPECT WEAK_SIGNAL LEGACY_WEAK OTHER_CONTEXT
    out[i] = in[i];
  }
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, kInts + 1);
  Buffer<int> recv = allocate<int>(job, kInts + 1);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginContextCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#if defined(DEFECT_LEGACY_WEAK)
  reqs.ginStrongSignalsRequired = false;
#endif
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks);
  pass_on<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kInts);
  CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(previous, job.rank, i, 0);

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
