// CORPUS run=2,4
// Puts spread over all contexts, made visible by one barrier that fences all of them.
//
// DEFECT ONE_CONTEXT missing_wait: the barrier fences context 0, the puts use the others too
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, 0);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclTeam world = ncclTeamWorld(dev);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    ncclGin gin(dev, peer % dev.ginContextCount);
    gin.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes);
  }
#if defined(DEFECT_ONE_CONTEXT)
  ncclGinBarrier(ncclCoopCta(), ncclGin(dev, 0), ncclTeamTagWorld(), 0);
#else
  ncclGinBarrier(ncclCoopCta(), ncclGinAllContexts(dev), ncclTeamTagWorld(), 0);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT ONE_CONTEXT
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.worldGinBarrierCount = 1;
  reqs.ginContextCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks);
  all_to_all<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(job.ranks * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < job.ranks * kInts; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 0);
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
