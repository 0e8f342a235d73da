// CORPUS run=2,4
// Blocks put their parts on one context; the last one to come signals for all, strongly. Then each
// block puts its part of the answer and waits at a barrier of its own with a Put fence.
//
// DEFECT FIRST_BLOCK missing_wait: block 0 signals although it does not know what the others issued
// DEFECT NO_FENCE missing_wait: counts its arrival before its put is published
// DEFECT FOREIGN_PART missing_wait: reads a part whose put another block's barrier covers
// DEFECT ONE_BARRIER missing_wait: block 0 alone meets the other ranks, whatever its neighbors do
#include "harness.h"

#include <nccl_device.h>

constexpr int kBlocks = 3, kPart = 16, kInts = kBlocks * kPart, kThreads = 32;

__device__ unsigned arrived;

__global__ void fill(int* send, int rank, int ranks, int round) {
  int next = (rank + 1) % ranks;
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, next, i, round);
}

__global__ void send_parts(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  int next = (world.rank + 1) % world.nRanks;
  const size_t part = blockIdx.x * kPart * sizeof(int);
  if (threadIdx.x == 0) {
    gin.put(world, next, recv, part, send, part, kPart * sizeof(int));
#if !defined(DEFECT_NO_FENCE)
    __threadfence();
#endif
    bool last = atomicAdd(&arrived, 1) == gridDim.x - 1;
#if defined(DEFECT_FIRST_BLOCK)
    last = blockIdx.x == 0;
#endif
    if (last) gin.signal(world, next, ncclGin_StrongSignalInc{0});
  }
  gin.flush(ncclCoopCta());
}

__global__ void receive(ncclDevComm dev, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  gin.waitSignal(ncclCoopCta(), 0, 1);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT FIRST_BLOCK NO_FENCE
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) out[i] = in[i];
}

__global__ void exchange(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  int next = (world.rank + 1) % world.nRanks, block = blockIdx.x;
  const size_t part = block * kPart * sizeof(int);
  if (threadIdx.x == 0) {
    gin.put(world, next, recv, kInts * sizeof(int) + part, send, part, kPart * sizeof(int));
  }
#if defined(DEFECT_ONE_BARRIER)
  if (block == 0)
#endif
  {
    ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), block);
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Put);
  }
#if defined(DEFECT_FOREIGN_PART)
  block = (block + 1) % kBlocks;
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, kInts * sizeof(int)));
  for (int i = threadIdx.x; i < kPart; i += blockDim.x) {
    // EXPECT FOREIGN_PART ONE_BARRIER
    out[block * kPart + i] = in[block * kPart + i];
  }
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, kInts);
  Buffer<int> recv = allocate<int>(job, 2 * kInts);
  int* out;
  CHECK(cudaMalloc(&out, 2 * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.worldGinBarrierCount = kBlocks;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, 0);
  send_parts<<<kBlocks, kThreads, 0, job.stream>>>(dev, send.window, recv.window);
  receive<<<1, kThreads, 0, job.stream>>>(dev, recv.window, out);
  fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, 1);
  exchange<<<kBlocks, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out + kInts);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(2 * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < 2 * kInts; ++i) {
    good = good && got[i] == value(previous, job.rank, i % kInts, i / kInts);
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
