// CORPUS run=2,4
// All-to-all over several CTAs, each with its own context, barrier and signal. CTA c of every rank
// moves part c of each block, so a CTA depends only on the CTAs of the same number.
//
// DEFECT FOREIGN_BASELINE deadlock: this CTA's barrier does not hold back the CTA that signals
// DEFECT FOREIGN_READ missing_wait: reads the part that another CTA waits for
// DEFECT BARRIER_SHARED barrier_shared: all CTAs use one barrier of one context at the same time
// DEFECT ONE_SIGNAL missing_wait: CTAs count each other's arrivals on a common signal and context
// DEFECT FOREIGN_FLUSH source_reuse: one CTA flushes for all, and is not ordered behind their puts
#include "harness.h"

#include <nccl_device.h>

constexpr int kCtas = 4, kPart = 16, kInts = kCtas * kPart, kRounds = 2, kThreads = 32;

__global__ void fill(int* send, int rank, int ranks, int round) {
  for (int i = threadIdx.x; i < ranks * kInts; i += blockDim.x) {
    // EXPECT FOREIGN_FLUSH
    send[i] = value(rank, i / kInts, i % kInts, round);
  }
}

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  int cta = blockIdx.x;
#if defined(DEFECT_ONE_SIGNAL)
  int signal = 0, context = 0;
#elif defined(DEFECT_BARRIER_SHARED)
  int signal = cta, context = 0;
#else
  int signal = cta, context = cta % dev.ginContextCount;
#endif
#if defined(DEFECT_BARRIER_SHARED)
  int index = 0;
#else
  int index = cta;
#endif
#if defined(DEFECT_FOREIGN_BASELINE)
  int awaited = (cta + 1) % kCtas, other = awaited % dev.ginContextCount;
#else
  int awaited = signal, other = context;
#endif
  ncclGin gin(dev, context);
  ncclGin arrivals(dev, other);
  ncclTeam world = ncclTeamWorld(dev);
  uint64_t before = arrivals.readSignal(awaited);
  // EXPECT BARRIER_SHARED
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), index);
  // EXPECT BARRIER_SHARED
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);

  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    size_t to = (world.rank * kInts + cta * kPart) * sizeof(int);
    size_t from = (peer * kInts + cta * kPart) * sizeof(int);
    gin.put(world, peer, recv, to, send, from, kPart * sizeof(int),
            ncclGin_WeakSignalInc{ncclGinSignal_t(signal)});
  }
  // EXPECT FOREIGN_BASELINE
  arrivals.waitSignal(ncclCoopCta(), awaited, before + world.nRanks);

  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
#if defined(DEFECT_FOREIGN_READ) || defined(DEFECT_FOREIGN_BASELINE)
  int part = (cta + 1) % kCtas;
#else
  int part = cta;
#endif
  for (int i = threadIdx.x; i < world.nRanks * kPart; i += blockDim.x) {
    int place = i / kPart * kInts + part * kPart + i % kPart;
    // EXPECT FOREIGN_READ ONE_SIGNAL
    out[place] = in[place];
  }
#if defined(DEFECT_FOREIGN_FLUSH)
  for (int c = 0; cta == 0 && c < dev.ginContextCount; ++c) ncclGin(dev, c).flush(ncclCoopCta());
#else
  gin.flush(ncclCoopCta());
#endif
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  int* out;
  CHECK(cudaMalloc(&out, job.ranks * kInts * sizeof(int)));

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = kCtas;
  reqs.ginContextCount = kCtas;
  reqs.worldGinBarrierCount = kCtas;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  bool good = true;
  std::vector<int> got(job.ranks * kInts);
  for (int round = 0; round < kRounds; ++round) {
    fill<<<1, kThreads, 0, job.stream>>>(send.data, job.rank, job.ranks, round);
    all_to_all<<<kCtas, kThreads, 0, job.stream>>>(dev, send.window, recv.window, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost,
                          job.stream));
    CHECK(cudaStreamSynchronize(job.stream));
    for (int i = 0; i < job.ranks * kInts; ++i) {
      good = good && got[i] == value(i / kInts, job.rank, i % kInts, round);
    }
  }

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
  release(job, recv);
  release(job, send);
  return finish(job, good);
}
