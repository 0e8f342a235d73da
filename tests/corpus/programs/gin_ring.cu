// CORPUS run=2,4,4/2
// One kernel passes many chunks around a ring through two slots. A receiver gives a slot back with
// a credit; a sender waits for it before it puts into that slot again.
//
// With two ranks what comes back proves that the slot is free, so some defects need four.
//
// DEFECT NO_CREDIT destination_overwrite run=4: puts into a slot still in use
// DEFECT EARLY_CREDIT destination_overwrite run=4: the slot is given back before it was read
// DEFECT WEAK_SIGNALS missing_wait: with two puts under way, a weak signal may be the later one's
// DEFECT OLD_CHUNK missing_wait: the threshold is met by the chunk before
// DEFECT WRONG_SLOT missing_wait: reads the slot of the next chunk
// DEFECT NO_FLUSH source_reuse run=4: refills the source of a put that may not have left
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 24, kChunks = 6, kSlots = 2, kThreads = 32;
constexpr ncclGinSignal_t kFull = 0, kFree = 1;

#if defined(DEFECT_WEAK_SIGNALS)
using Arrived = ncclGin_WeakSignalInc;
#else
using Arrived = ncclGin_StrongSignalInc;
#endif

// One warp: every chunk goes to the next rank, and what came from the previous is read.
__global__ void ring(ncclDevComm dev, ncclWindow_t stage, ncclWindow_t slots, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  ncclCoopWarp warp;
  int next = (world.rank + 1) % world.nRanks;
  int previous = (world.rank + world.nRanks - 1) % world.nRanks;
  const size_t bytes = kInts * sizeof(int);
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    size_t slot = chunk % kSlots * bytes;
    int* staged = static_cast<int*>(ncclGetLocalPointer(stage, slot));
    for (int i = threadIdx.x; i < kInts; i += 32) {
      // EXPECT NO_FLUSH
      staged[i] = value(world.rank, next, i, chunk);
    }
#if !defined(DEFECT_NO_CREDIT)
    if (chunk >= kSlots) gin.waitSignal(warp, kFree, chunk - kSlots + 1);
#endif
    // EXPECT NO_CREDIT EARLY_CREDIT
    gin.put(world, next, slots, slot, stage, slot, bytes, Arrived{kFull}, ncclGin_None{}, warp);
#if defined(DEFECT_OLD_CHUNK)
    gin.waitSignal(warp, kFull, chunk);
#else
    gin.waitSignal(warp, kFull, chunk + 1);
#endif
#if defined(DEFECT_EARLY_CREDIT)
    gin.signal(world, previous, ncclGin_WeakSignalInc{kFree}, warp);
#endif
#if defined(DEFECT_WRONG_SLOT)
    slot = (chunk + 1) % kSlots * bytes;
#endif
    const int* in = static_cast<const int*>(ncclGetLocalPointer(slots, slot));
    for (int i = threadIdx.x; i < kInts; i += 32) {
      // EXPECT NO_CREDIT EARLY_CREDIT WEAK_SIGNALS OLD_CHUNK WRONG_SLOT
      out[chunk * kInts + i] = in[i];
    }
#if !defined(DEFECT_EARLY_CREDIT)
    gin.signal(world, previous, ncclGin_WeakSignalInc{kFree}, warp);
#endif
#if !defined(DEFECT_NO_FLUSH)
    gin.flush(warp);
#endif
  }
  gin.waitSignal(warp, kFree, kChunks);  // no credit is still under way when the kernel ends
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> stage = allocate<int>(job, kSlots * kInts);
  Buffer<int> slots = allocate<int>(job, kSlots * kInts);
  int* out;
  CHECK(cudaMalloc(&out, kChunks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 2;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  ring<<<1, kThreads, 0, job.stream>>>(dev, stage.window, slots.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(kChunks * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kChunks * kInts; ++i) {
    good = good && got[i] == value(previous, job.rank, i % kInts, i / kInts);
  }

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, slots);
  release(job, stage);
  return finish(job, good);
}
