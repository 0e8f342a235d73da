// CORPUS run=2,4,4/2
// Stores to the next rank of the LSA team, announced by a GIN signal: the signal must release
// the stores at system scope, since another GPU's memory was written.
//
// DEFECT NARROW_SCOPE scope_too_narrow: by default a signal releases at device scope
// DEFECT NO_WAIT data_race: reads without waiting for the signal
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32, kThreads = 64;

__global__ void pass_on(ncclDevComm dev, ncclWindow_t inbox, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam lsa = ncclTeamLsa(dev), world = ncclTeamWorld(dev);
  int next = (lsa.rank + 1) % lsa.nRanks;
  int next_world = ncclTeamRankToWorld(dev, lsa, next);
  int* remote = static_cast<int*>(ncclGetLsaPointer(inbox, 0, next));
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
    // EXPECT NARROW_SCOPE NO_WAIT
    remote[i] = value(world.rank, next_world, i, 0);
  }
#if defined(DEFECT_NARROW_SCOPE)
  // EXPECT NARROW_SCOPE
  gin.signal(world, next_world, ncclGin_WeakSignalInc{0}, ncclCoopCta());
#else
  gin.signal(world, next_world, ncclGin_WeakSignalInc{0}, ncclCoopCta(), ncclGin_None{},
             cuda::thread_scope_thread, cuda::thread_scope_system);
#endif
#if !defined(DEFECT_NO_WAIT)
  gin.waitSignal(ncclCoopCta(), 0, 1);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(inbox, 0));
  // EXPECT NARROW_SCOPE NO_WAIT
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  CHECK(ncclCommQueryProperties(job.comm, &properties));
  const int team_size = job.ranks / properties.nLsaTeams;
  Buffer<int> inbox = allocate<int>(job, kInts);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  pass_on<<<1, kThreads, 0, job.stream>>>(dev, inbox.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kInts);
  CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int first = job.rank - job.rank % team_size;
  int previous = first + (job.rank + team_size - 1) % team_size;
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(previous, job.rank, i, 0);

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, inbox);
  return finish(job, good);
}
