// Loops that wait for a peer's signal and change memory in each round. COUNT: one thread counts its
// rounds; TWO_PLACES: with an atomic, and looks at a second place too; else the block shares what
// its first thread saw. The argument is how many signals are awaited; one comes.
#include "harness.h"

#include <nccl_device.h>

__global__ void wait_for_signals(ncclDevComm dev, uint64_t signals, int* rounds,
                                 volatile int* stop) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  const int next = (world.rank + 1) % world.nRanks;
  if (threadIdx.x == 0) gin.signal(world, next, ncclGin_WeakSignalInc{0});
#if defined(COUNT)
  if (threadIdx.x == 0) {
    while (gin.readSignal(0) < signals) rounds[0]++;
  }
#elif defined(TWO_PLACES)
  if (threadIdx.x == 0) {
    while (gin.readSignal(0) < signals && *stop == 0) atomicAdd(rounds, 1);
  }
#else
  __shared__ bool done;
  do {
    __syncthreads();
    if (threadIdx.x == 0) done = gin.readSignal(0) >= signals;
    __syncthreads();
  } while (!done);
#endif
  __syncthreads();
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int signals = argc > 1 ? atoi(argv[1]) : 1;
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));
  int* words;
  CHECK(cudaMalloc(&words, 2 * sizeof(int)));
  CHECK(cudaMemset(words, 0, 2 * sizeof(int)));
  wait_for_signals<<<1, 32, 0, job.stream>>>(dev, signals, words, words + 1);
  CHECK(cudaStreamSynchronize(job.stream));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(cudaFree(words));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  return finish(job, true);
}
