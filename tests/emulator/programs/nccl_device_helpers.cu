// Helpers of the device API: low-latency all-to-all, loops that reduce and copy, and waits with a
// time-out. The first argument takes one rule away.
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <string>

#include "expect.h"

constexpr int kThreads = 32;
constexpr size_t kFloats = 40;

struct Pair {
  double value;
  int from, index;
};

// Each thread exchanges one element with every peer, in several epochs.
__global__ void low_latency(ncclDevComm dev, ncclLLA2AHandle handle, int elements, double* out) {
  ncclCoopCta cta;
  const ncclTeam lsa = ncclTeamLsa(dev);
  ncclLLA2ASession<ncclCoopCta> session(cta, dev, lsa, handle, 0, elements);
  double sum = 0;
  for (int epoch = 0; epoch < 3; epoch++) {
    for (int peer = 0; peer < lsa.nRanks; peer++) {
      session.send(peer, lsa.rank * kThreads + threadIdx.x,
                   Pair{100.0 * epoch + lsa.rank, lsa.rank, static_cast<int>(threadIdx.x)});
    }
    sum += session.recvReduce<4, Pair>(
        threadIdx.x, lsa.nRanks, kThreads,
        [](Pair p) { return p.value + (p.index == static_cast<int>(threadIdx.x) ? 0.5 : 0); },
        [](double a, double b) { return a + b; });
    session.endEpoch(cta);
    session.bcast(lsa.rank * kThreads + threadIdx.x, 1.0f + lsa.rank);
    for (int peer = 0; peer < lsa.nRanks; peer++) {
      sum += session.recv<float>(peer * kThreads + threadIdx.x);  // EXPECT slots
    }
    session.endEpoch(cta);
  }
  out[threadIdx.x] = sum;
}

// All sums of all ranks by loads, by multimem, and the mean of both back to everybody.
__global__ void reduce_and_copy(ncclDevComm dev, ncclWindow_t window, float* out, bool entry) {
  ncclCoopCta cta;
  ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), 0);
  if (entry) bar.sync(cta, cuda::memory_order_acq_rel);
  const ncclSymPtr<float> source(window, 0), target(window, 4096);
#ifndef WITHOUT_LOOPS  // nvcc wants --extended-lambda for them
  ncclLsaReduceSum(cta, source, out, kFloats, ncclTeamLsa(dev));  // EXPECT no_entry
  if (dev.lsaSize > 1) {
    ncclMultimemReduceSum(cta, source, out + kFloats, kFloats, dev.lsaMultimem);
  }
  cta.sync();
  if (dev.lsaRank == 0) ncclLsaCopy(cta, out, target, kFloats, dev);
  bar.sync(cta, cuda::memory_order_acq_rel);
  ncclLocalCopy(cta, target.localPtr(), 2, out + 2 * kFloats, kFloats, kFloats);
#endif
  bar.sync(cta, cuda::memory_order_acq_rel);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
// A flush that is waited for later: then the source may be written, and a get has arrived.
__global__ void flush_later(ncclDevComm dev, ncclWindow_t window, int* out, bool waited) {
  const ncclTeam world = ncclTeamWorld(dev);
  const int next = (world.rank + 1) % world.nRanks;
  ncclGin gin(dev, 0);
  int* mine = static_cast<int*>(ncclGetLocalPointer(window, 0));
  mine[0] = 10 * world.rank;
  gin.put(world, next, window, 64, window, 0, sizeof(int), ncclGin_WeakSignalInc{1});
  ncclGinRequest_t put, get;
  gin.flushAsync(world, next, &put);
  if (waited) gin.wait(put);
  mine[0] = -1;  // EXPECT not_waited
  gin.waitSignal(ncclCoopThread(), 1, 1);
  ncclGinBarrier(ncclCoopThread(), gin, ncclTeamTagWorld(), 0);
  gin.get(world, next, window, 64, window, 128, sizeof(int));
  gin.flushAsync(world, next, &get);
  gin.wait(get);
  out[0] = mine[16];
  out[1] = mine[32];
  ncclGinBarrier(ncclCoopThread(), gin, ncclTeamTagWorld(), 0);
}

// Nobody signals, and rank 0 comes to no barrier: the waits end all the same.
__global__ void give_up(ncclDevComm dev, int* results) {
  ncclCoopCta cta;
  ncclResult_t got[3] = {ncclSuccess, ncclSuccess, ncclSuccess};
  {
    ncclLsaBarrierSession<ncclCoopCta> bar(cta, dev, ncclTeamTagLsa(), 1);
    if (dev.rank != 0) got[0] = bar.sync(cta, cuda::memory_order_acq_rel, 1000);
  }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 31, 0)
  ncclGin gin(dev, 0);
  got[1] = gin.waitSignal(cta, 0, 1, 64, cuda::memory_order_acquire, 5000);
  if (threadIdx.x == 0) gin.signal(ncclTeamWorld(dev), dev.rank, ncclGin_WeakSignalInc{0});
  got[2] = gin.waitSignal(cta, 0, 1, 64, cuda::memory_order_acquire, 5000);
#else
  got[1] = ncclTimeout;
#endif
  if (threadIdx.x < 3) results[threadIdx.x] = got[threadIdx.x];
}
#endif

struct Setup {
  ncclComm_t comm;
  int rank, ranks, lsa;
  void* buffer;
  ncclWindow_t window;
  ncclDevComm dev;
  ncclLLA2AHandle lines;
};

void create(Setup& s, int slots) {
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 2;
  reqs.lsaMultimem = s.lsa > 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  reqs.ginSignalCount = 2;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
  reqs.worldGinBarrierCount = 1;
#endif
  ncclDevResourceRequirements resource;
  EXPECT(ncclLLA2ACreateRequirement(1, slots, &s.lines, &resource) == ncclSuccess);
  resource.next = nullptr;
  reqs.resourceRequirementsList = &resource;
  EXPECT(ncclDevCommCreate(s.comm, &reqs, &s.dev) == ncclSuccess);
}

void check_low_latency(const Setup& s, int elements) {
  double *out, host[kThreads];
  cudaMalloc(&out, sizeof host);
  for (int launch = 0; launch < 2; launch++) {
    low_latency<<<1, kThreads>>>(s.dev, s.lines, elements, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    double want = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
      for (int r = 0; r < s.lsa; r++) want += 100.0 * epoch + r + 0.5 + 1 + r;
    }
    for (double value : host) EXPECT(value == want);
  }
  cudaFree(out);
}

void check_loops(const Setup& s, bool entry) {
  float *out, host[4 * kFloats], mine[kFloats];
  for (size_t i = 0; i < kFloats; i++) mine[i] = i + 10 * (s.rank % s.lsa);
  cudaMalloc(&out, sizeof host);
  cudaMemset(out, 0, sizeof host);
  cudaMemcpy(s.buffer, mine, sizeof mine, cudaMemcpyHostToDevice);
  reduce_and_copy<<<1, kThreads>>>(s.dev, s.window, out, entry);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < kFloats; i++) {
    const float want = s.lsa * i + 10.0f * s.lsa * (s.lsa - 1) / 2;
    EXPECT(host[i] == want && (s.lsa == 1 || host[kFloats + i] == want));
    EXPECT(host[2 * kFloats + i] == want && host[3 * kFloats + i] == want);
  }
  cudaFree(out);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
void check_flush(const Setup& s, bool waited) {
  int *out, host[2];
  cudaMalloc(&out, sizeof host);
  MPI_Barrier(MPI_COMM_WORLD);  // the peers are done with the window
  flush_later<<<1, 1>>>(s.dev, s.window, out, waited);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  EXPECT(host[0] == 10 * ((s.rank + s.ranks - 1) % s.ranks) && host[1] == 10 * s.rank);
  cudaFree(out);
}

void check_time_outs(const Setup& s) {
  int *out, host[3];
  cudaMalloc(&out, sizeof host);
  give_up<<<1, kThreads>>>(s.dev, out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  EXPECT(host[0] == (s.rank == 0 || s.lsa == 1 ? ncclSuccess : ncclTimeout) || s.lsa < s.ranks);
  EXPECT(host[1] == ncclTimeout && host[2] == ncclSuccess);
  cudaFree(out);
}
#endif

int main(int argc, char** argv) {
  const std::string defect = argc > 1 ? argv[1] : "";
  Setup s = {};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  ncclUniqueId id;
  if (s.rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  cudaSetDevice(s.rank);
  EXPECT(ncclCommInitRank(&s.comm, s.ranks, id, s.rank) == ncclSuccess);
  s.lsa = ncclTeamLsa(s.comm).nRanks;
  const size_t bytes = 8192;
  ncclMemAlloc(&s.buffer, bytes);
  EXPECT(ncclCommWindowRegister(s.comm, s.buffer, bytes, &s.window, NCCL_WIN_COLL_SYMMETRIC) ==
         ncclSuccess);
  const int elements = s.lsa * kThreads;
  const int slots = ncclLLA2ACalcSlots(elements, sizeof(Pair));
  EXPECT(slots == 2 * elements);
  create(s, defect == "slots" ? kThreads : slots);
  check_low_latency(s, elements);
  check_loops(s, defect != "no_entry");
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
  check_flush(s, defect != "not_waited");
  if (defect.empty()) check_time_outs(s);
#endif
  cudaDeviceSynchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  ncclDevCommDestroy(s.comm, &s.dev);
  ncclCommWindowDeregister(s.comm, s.window);
  ncclMemFree(s.buffer);
  ncclCommDestroy(s.comm);
  MPI_Finalize();
  return defect.empty() && failures != 0;
}
