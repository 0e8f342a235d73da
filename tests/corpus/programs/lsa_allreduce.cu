// CORPUS run=2,4
// All-reduce in one kernel: each rank sums its slice over all peers, stores the sum into every
// peer's result, and reads the whole result after a barrier that acquires and releases.
//
// DEFECT NO_ENTRY_BARRIER data_race: reads the peers' input while it may still be written
// DEFECT RELEASE_ONLY data_race: data is used in this kernel after a barrier that only releases
// DEFECT ACQUIRE_ONLY data_race: data is used after a barrier that publishes nothing
// DEFECT NO_BARRIER data_race: nothing orders the peers' sums before they are read
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 64, kThreads = 32;  // kInts is a multiple of any number of ranks used

__global__ void fill(int* input, int rank) {
  // EXPECT NO_ENTRY_BARRIER
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) input[i] = value(rank, 0, i, 0);
}

__global__ void all_reduce(ncclDevComm dev, ncclWindow_t input, ncclWindow_t result, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
#if !defined(DEFECT_NO_ENTRY_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
  int slice = kInts / lsa.nRanks;
  for (int i = lsa.rank * slice + threadIdx.x; i < (lsa.rank + 1) * slice; i += blockDim.x) {
    int sum = 0;
    for (int peer = 0; peer < lsa.nRanks; ++peer) {
      // EXPECT NO_ENTRY_BARRIER
      sum += static_cast<const int*>(ncclGetLsaPointer(input, 0, peer))[i];
    }
    for (int peer = 0; peer < lsa.nRanks; ++peer) {
      // EXPECT RELEASE_ONLY ACQUIRE_ONLY NO_BARRIER
      static_cast<int*>(ncclGetLsaPointer(result, 0, peer))[i] = sum;
    }
  }
#if defined(DEFECT_RELEASE_ONLY)
  barrier.sync(ncclCoopCta(), cuda::memory_order_release);
#elif defined(DEFECT_ACQUIRE_ONLY)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acquire);
#elif !defined(DEFECT_NO_BARRIER)
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(result, 0));
  // EXPECT RELEASE_ONLY ACQUIRE_ONLY NO_BARRIER
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) out[i] = in[i];
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> input = allocate<int>(job, kInts);
  Buffer<int> result = allocate<int>(job, kInts);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 1;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<1, kThreads, 0, job.stream>>>(input.data, job.rank);
  all_reduce<<<1, kThreads, 0, job.stream>>>(dev, input.window, result.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kInts);
  CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < kInts; ++i) {
    int sum = 0;
    for (int peer = 0; peer < job.ranks; ++peer) sum += value(peer, 0, i, 0);
    good = good && got[i] == sum;
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, result);
  release(job, input);
  return finish(job, good);
}
