// CORPUS run=2,4
// Rank 0 works off what arrives, in batches: it waits until the signal runs ahead of its shadow.
//
// DEFECT READ_ALL missing_wait: reads every slot although only a batch of them has arrived
#include "harness.h"

#include <nccl_device.h>

constexpr int kThreads = 32;

// Every rank puts one value into its slot at rank 0; rank 0 counts arrivals and adds up at the end.
__global__ void collect(ncclDevComm dev, ncclWindow_t slots, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  if (threadIdx.x == 0) {
    int mine = value(world.rank, 0, 0, 0);
    gin.putValue(world, 0, slots, world.rank * sizeof(int), mine, ncclGin_WeakSignalInc{0});
  }
  if (world.rank == 0) {
    uint64_t arrived = 0;
#if defined(DEFECT_READ_ALL)
    uint64_t enough = 1;
#else
    uint64_t enough = world.nRanks;
#endif
    while (arrived < enough) {
      uint64_t before = 0, fresh = 0;
      gin.waitSignalFollowShadow(ncclCoopCta(), 0, uint64_t(1), &before, &fresh);
      arrived = before + fresh;
    }
    if (threadIdx.x == 0) {
      const int* in = static_cast<const int*>(ncclGetLocalPointer(slots, 0));
      int sum = 0;
      // EXPECT READ_ALL
      for (int peer = 0; peer < world.nRanks; ++peer) sum += in[peer];
      *out = sum;
    }
  }
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> slots = allocate<int>(job, job.ranks);
  int* out;
  CHECK(cudaMalloc(&out, sizeof(int)));
  CHECK(cudaMemset(out, 0, sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  collect<<<1, kThreads, 0, job.stream>>>(dev, slots.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  int got = 0, expected = 0;
  CHECK(cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost));
  for (int peer = 0; peer < job.ranks; ++peer) expected += value(peer, 0, 0, 0);
  bool good = job.rank != 0 || got == expected;

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, slots);
  return finish(job, good);
}
