// CORPUS run=2,4
// The flag idiom of older code: plain stores, a system fence, a volatile flag.
//
// DEFECT DEVICE_FENCE scope_too_narrow: __threadfence reaches this GPU only
// DEFECT NO_FENCE data_race: nothing keeps the data before the flag
// DEFECT NO_READER_FENCE data_race: nothing keeps the reads behind the flag
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 32;

struct Inbox {
  int data[kInts];
  int full;
};

__global__ void pass_on(ncclDevComm dev, ncclWindow_t window, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  int next = (lsa.rank + 1) % lsa.nRanks;
  Inbox* mine = static_cast<Inbox*>(ncclGetLocalPointer(window, 0));
  Inbox* theirs = static_cast<Inbox*>(ncclGetLsaPointer(window, 0, next));
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
    // EXPECT DEVICE_FENCE NO_FENCE NO_READER_FENCE
    theirs->data[i] = value(lsa.rank, next, i, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#if defined(DEFECT_DEVICE_FENCE)
    // EXPECT DEVICE_FENCE
    __threadfence();
#elif !defined(DEFECT_NO_FENCE)
    __threadfence_system();
#endif
    // EXPECT DEVICE_FENCE
    *static_cast<volatile int*>(&theirs->full) = 1;
    // EXPECT DEVICE_FENCE
    while (*static_cast<volatile int*>(&mine->full) == 0) {
    }
#if !defined(DEFECT_NO_READER_FENCE)
    __threadfence_system();
#endif
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
    // EXPECT DEVICE_FENCE NO_FENCE NO_READER_FENCE
    out[i] = mine->data[i];
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<Inbox> inbox = allocate<Inbox>(job, 1);
  int* out;
  CHECK(cudaMalloc(&out, kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));
  CHECK(MPI_Barrier(MPI_COMM_WORLD));

  pass_on<<<1, kInts, 0, job.stream>>>(dev, inbox.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kInts);
  CHECK(cudaMemcpy(got.data(), out, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(previous, job.rank, i, 0);

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, inbox);
  return finish(job, good);
}
