// CORPUS run=2,4 nccl=2.28.9
// All-to-all over several CTAs, each with its own barrier, split into arrive and wait with work in
// between. CTA c of every rank stores part c, so a CTA depends only on CTAs of the same number.
//
// DEFECT FOREIGN_READ data_race: reads what another CTA's barrier orders
// DEFECT BARRIER_SHARED barrier_shared: all CTAs use one barrier index at the same time
// DEFECT WAIT_TWICE deadlock: a second wait without an arrival
// DEFECT RELAXED_ARRIVE data_race: the arrival releases nothing
#include "harness.h"

#include <nccl_device.h>

constexpr int kCtas = 3, kPart = 16, kInts = kCtas * kPart, kThreads = 32;

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t recv, int* squares, int* out) {
  ncclTeam lsa = ncclTeamLsa(dev);
  int cta = blockIdx.x;
#if defined(DEFECT_BARRIER_SHARED)
  int index = 0;
#else
  int index = cta;
#endif
  ncclCoopCta coop;
  // EXPECT BARRIER_SHARED
  ncclLsaBarrierSession<ncclCoopCta> barrier(coop, dev, ncclTeamTagLsa(), index);
  for (int peer = 0; peer < lsa.nRanks; ++peer) {
    size_t block = (lsa.rank * kInts + cta * kPart) * sizeof(int);
    int* remote = static_cast<int*>(ncclGetLsaPointer(recv, block, peer));
    for (int i = threadIdx.x; i < kPart; i += blockDim.x) {
      // EXPECT FOREIGN_READ RELAXED_ARRIVE
      remote[i] = value(lsa.rank, peer, cta * kPart + i, 0);
    }
  }
#if defined(DEFECT_RELAXED_ARRIVE)
  barrier.arrive(coop, cuda::memory_order_relaxed);
#else
  // EXPECT BARRIER_SHARED
  barrier.arrive(coop, cuda::memory_order_release);
#endif
  for (int i = threadIdx.x; i < kPart; i += blockDim.x) squares[cta * kPart + i] = i * i;
  // EXPECT BARRIER_SHARED
  barrier.wait(coop, cuda::memory_order_acquire);
#if defined(DEFECT_WAIT_TWICE)
  // EXPECT WAIT_TWICE
  barrier.wait(coop, cuda::memory_order_acquire);
#endif
#if defined(DEFECT_FOREIGN_READ)
  int part = (cta + 1) % kCtas;
#else
  int part = cta;
#endif
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < lsa.nRanks * kPart; i += blockDim.x) {
    int place = i / kPart * kInts + part * kPart + i % kPart;
    // EXPECT FOREIGN_READ RELAXED_ARRIVE
    out[place] = in[place];
  }
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int *squares, *out;
  CHECK(cudaMalloc(&squares, kInts * sizeof(int)));
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs{};
  reqs.lsaBarrierCount = kCtas;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  all_to_all<<<kCtas, kThreads, 0, job.stream>>>(dev, recv.window, squares, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(job.ranks * kInts), got_squares(kInts);
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(got_squares.data(), squares, kInts * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < job.ranks * kInts; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 0);
  }
  for (int i = 0; i < kInts; ++i) good = good && got_squares[i] == (i % kPart) * (i % kPart);

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(squares));
  CHECK(cudaFree(out));
  release(job, recv);
  return finish(job, good);
}
