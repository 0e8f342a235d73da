// CORPUS run=2,4
// A ring inside the LSA team without barriers: data by plain stores, then a flag by a system-scope
// atomic; an acknowledgement the other way lets the sender overwrite.
//
// DEFECT DEVICE_SCOPE scope_too_narrow: another GPU reads the flag, device scope does not reach it
// DEFECT RELAXED_FLAG data_race: the flag is stored without release
// DEFECT RELAXED_LOAD data_race: the flag is loaded without acquire
// DEFECT NO_SYNC data_race: one thread raises the flag before the others have stored
// DEFECT NO_ACK data_race: overwrites data that the receiver may still be reading
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 64, kRounds = 3, kThreads = 64;

struct Inbox {
  int data[kInts];
  unsigned full;   // rounds that arrived here
  unsigned taken;  // rounds that the next rank has read from its own inbox
};

#if defined(DEFECT_DEVICE_SCOPE)
using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
#else
using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
#endif
#if defined(DEFECT_RELAXED_FLAG)
constexpr cuda::memory_order kStore = cuda::memory_order_relaxed;
#else
constexpr cuda::memory_order kStore = cuda::memory_order_release;
#endif
#if defined(DEFECT_RELAXED_LOAD)
constexpr cuda::memory_order kLoad = cuda::memory_order_relaxed;
#else
constexpr cuda::memory_order kLoad = cuda::memory_order_acquire;
#endif

__global__ void ring(ncclDevComm dev, ncclWindow_t window, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  int next = (lsa.rank + 1) % lsa.nRanks, previous = (lsa.rank + lsa.nRanks - 1) % lsa.nRanks;
  Inbox* mine = static_cast<Inbox*>(ncclGetLocalPointer(window, 0));
  Inbox* theirs = static_cast<Inbox*>(ncclGetLsaPointer(window, 0, next));
  Inbox* sender = static_cast<Inbox*>(ncclGetLsaPointer(window, 0, previous));
  for (unsigned round = 0; round < kRounds; ++round) {
#if !defined(DEFECT_NO_ACK)
    if (threadIdx.x == 0) {
      // EXPECT DEVICE_SCOPE
      while (Flag(mine->taken).load(kLoad) < round) {
      }
    }
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
      // EXPECT DEVICE_SCOPE RELAXED_FLAG RELAXED_LOAD NO_SYNC NO_ACK
      theirs->data[i] = value(lsa.rank, next, i, round);
    }
#if !defined(DEFECT_NO_SYNC)
    __syncthreads();
#endif
    // EXPECT DEVICE_SCOPE
    if (threadIdx.x == 0) Flag(theirs->full).store(round + 1, kStore);
    if (threadIdx.x == 0) {
      // EXPECT DEVICE_SCOPE
      while (Flag(mine->full).load(kLoad) < round + 1) {
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kInts; i += blockDim.x) {
      // EXPECT DEVICE_SCOPE RELAXED_FLAG RELAXED_LOAD NO_SYNC NO_ACK
      out[round * kInts + i] = mine->data[i];
    }
    __syncthreads();
    // EXPECT DEVICE_SCOPE
    if (threadIdx.x == 0) Flag(sender->taken).store(round + 1, kStore);
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<Inbox> inbox = allocate<Inbox>(job, 1);
  int* out;
  CHECK(cudaMalloc(&out, kRounds * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));
  CHECK(MPI_Barrier(MPI_COMM_WORLD));

  ring<<<1, kThreads, 0, job.stream>>>(dev, inbox.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kRounds * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kRounds * kInts; ++i) {
    good = good && got[i] == value(previous, job.rank, i % kInts, i / kInts);
  }

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, inbox);
  return finish(job, good);
}
