// CORPUS run=2,4,4/2
// Counts travel as 8-byte values; their signals add the number of bytes that each one brings.
//
// DEFECT MISSING_WAIT missing_wait: nothing orders the read after the peers' values
// DEFECT COUNTS_NOT_BYTES missing_wait: one arrival adds 8, so the wait ends after the first
#include "harness.h"

#include <nccl_device.h>

constexpr int kThreads = 32;

__global__ void exchange_counts(ncclDevComm dev, ncclWindow_t counts, unsigned long long* total) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    unsigned long long count = 1000ull * world.rank + peer;
    gin.putValue(world, peer, counts, world.rank * sizeof(count), count,
                 ncclGin_WeakSignalAdd{0, sizeof(count)});
  }
#if defined(DEFECT_COUNTS_NOT_BYTES)
  gin.waitSignal(ncclCoopCta(), 0, world.nRanks);
#elif !defined(DEFECT_MISSING_WAIT)
  gin.waitSignal(ncclCoopCta(), 0, world.nRanks * sizeof(unsigned long long));
#endif
  if (threadIdx.x == 0) {
    auto in = static_cast<const unsigned long long*>(ncclGetLocalPointer(counts, 0));
    unsigned long long sum = 0;
    // EXPECT MISSING_WAIT COUNTS_NOT_BYTES
    for (int peer = 0; peer < world.nRanks; ++peer) sum += in[peer];
    *total = sum;
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<unsigned long long> counts = allocate<unsigned long long>(job, job.ranks);
  unsigned long long* total;
  CHECK(cudaMalloc(&total, sizeof(*total)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  exchange_counts<<<1, kThreads, 0, job.stream>>>(dev, counts.window, total);
  CHECK(cudaGetLastError());
  unsigned long long got = 0, expected = 0;
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(cudaMemcpy(&got, total, sizeof(got), cudaMemcpyDeviceToHost));
  for (int peer = 0; peer < job.ranks; ++peer) expected += 1000ull * peer + job.rank;

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(total));
  release(job, counts);
  return finish(job, got == expected);
}
