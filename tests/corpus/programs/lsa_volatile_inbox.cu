// CORPUS run=2,4
// Each rank stores words and then a count into the memory of the next one, all of it volatile, for
// several rounds; an acknowledgement the other way lets the sender go on.
//
// DEFECT DEVICE_FENCE stale_read: __threadfence reaches this GPU only
// DEFECT NO_FENCE stale_read: nothing keeps the words before the count
// DEFECT NO_READER_FENCE stale_read: nothing keeps the reads behind the count
// DEFECT DEVICE_SCOPE stale_read: the count is released to this GPU only
#include "harness.h"

#include <nccl_device.h>

constexpr int kWords = 48, kRounds = 3;

struct Inbox {
  int words[kWords];
  unsigned full, taken;
};

__device__ void announce(Inbox* theirs, unsigned round) {
#if defined(DEFECT_DEVICE_SCOPE)
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> full(theirs->full);
  full.store(round, cuda::memory_order_release);
#else
#if defined(DEFECT_DEVICE_FENCE)
  __threadfence();
#elif !defined(DEFECT_NO_FENCE)
  __threadfence_system();
#endif
  *static_cast<volatile unsigned*>(&theirs->full) = round;
#endif
}

__device__ void wait_for(unsigned* counter, unsigned round) {
  while (*static_cast<volatile unsigned*>(counter) < round) {
  }
}

__global__ void pass_on(ncclDevComm dev, ncclWindow_t window, int* out) {
  const ncclTeam lsa = ncclTeamLsa(dev);
  const int next = (lsa.rank + 1) % lsa.nRanks, previous = (lsa.rank + lsa.nRanks - 1) % lsa.nRanks;
  Inbox* mine = static_cast<Inbox*>(ncclGetLocalPointer(window, 0));
  Inbox* theirs = static_cast<Inbox*>(ncclGetLsaPointer(window, 0, next));
  Inbox* sender = static_cast<Inbox*>(ncclGetLsaPointer(window, 0, previous));
  const int i = threadIdx.x;
  for (unsigned round = 1; round <= kRounds; ++round) {
    if (i == 0) wait_for(&mine->taken, round - 1);
    __syncthreads();
    static_cast<volatile int*>(theirs->words)[i] = value(lsa.rank, next, i, round);
    __syncthreads();
    if (i == 0) {
      announce(theirs, round);
      wait_for(&mine->full, round);
#if !defined(DEFECT_NO_READER_FENCE)
      __threadfence_system();
#endif
    }
    __syncthreads();
    // EXPECT DEVICE_FENCE NO_FENCE NO_READER_FENCE DEVICE_SCOPE
    out[(round - 1) * kWords + i] = static_cast<volatile int*>(mine->words)[i];
    __syncthreads();
    if (i == 0) {
      __threadfence_system();
      *static_cast<volatile unsigned*>(&sender->taken) = round;
    }
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<Inbox> inbox = allocate<Inbox>(job, 1);
  int* out;
  CHECK(cudaMalloc(&out, kRounds * kWords * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));
  CHECK(MPI_Barrier(MPI_COMM_WORLD));

  pass_on<<<1, kWords, 0, job.stream>>>(dev, inbox.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kRounds * kWords);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  const int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kRounds * kWords; ++i) {
    good = good && got[i] == value(previous, job.rank, i % kWords, i / kWords + 1);
  }

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, inbox);
  return finish(job, good);
}
