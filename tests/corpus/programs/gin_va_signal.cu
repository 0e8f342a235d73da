// CORPUS run=2,4
// Signals that live in a window of the user's: one 8-byte word for each sender.
//
// DEFECT OWN_WORD missing_wait: waits only for its own arrival, reads everybody's
// DEFECT MISSING_WAIT missing_wait: nothing orders the read after the peers' puts
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 16, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    send[i] = value(rank, i / kInts, i % kInts, 0);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv,
                           ncclWindow_t words, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  const size_t bytes = kInts * sizeof(int);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, recv, world.rank * bytes, send, peer * bytes, bytes,
            ncclGin_WeakVASignalAdd{words, world.rank * sizeof(uint64_t), 1});
  }
#if defined(DEFECT_OWN_WORD)
  gin.waitSignal(ncclCoopCta(), words, world.rank * sizeof(uint64_t), 1);
#elif !defined(DEFECT_MISSING_WAIT)
  for (int peer = 0; peer < world.nRanks; ++peer) {
    gin.waitSignal(ncclCoopCta(), words, peer * sizeof(uint64_t), 1);
  }
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  // EXPECT OWN_WORD MISSING_WAIT
  for (int i = threadIdx.x; i < world.nRanks * kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  Buffer<uint64_t> words =
      allocate<uint64_t>(job, job.ranks, NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks);
  all_to_all<<<1, kThreads, 0, job.stream>>>(dev, send.window, recv.window, words.window, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(job.ranks * kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < job.ranks * kInts; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 0);
  }

  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, words);
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
