// One-sided host calls, communicators that shrink and grow, and collectives with a configuration.
// The first argument takes one rule away.
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <string>
#include <vector>

#include "expect.h"

constexpr int kInts = 16;

__global__ void fill(int* p, int value) { p[threadIdx.x] = value + threadIdx.x; }

struct Setup {
  ncclComm_t comm;
  int rank, ranks;
  int *source, *target, *seen;
  ncclWindow_t source_window, target_window;
  cudaStream_t stream;
};

// Every rank puts its block into every peer's window, and waits for all.
void all_to_all(const Setup& s, const std::string& defect) {
  const size_t bytes = kInts * sizeof(int);
  fill<<<1, kInts, 0, s.stream>>>(s.source, 100 * s.rank);
  EXPECT(ncclGroupStart() == ncclSuccess);
  for (int peer = 0; peer < s.ranks; peer++) {
    EXPECT(ncclPutSignal(s.source, kInts, ncclInt, peer, s.target_window, s.rank * bytes, 0, 0, 0,
                         s.comm, s.stream) == ncclSuccess);
  }
  EXPECT(ncclGroupEnd() == ncclSuccess);
  std::vector<ncclWaitSignalDesc_t> waits;
  for (int peer = 0; peer < s.ranks; peer++) {
    if (defect != "one_less" || peer != (s.rank + 1) % s.ranks) waits.push_back({1, peer, 0, 0});
  }
  if (defect != "no_wait") {
    EXPECT(ncclWaitSignal(static_cast<int>(waits.size()), waits.data(), s.comm, s.stream) ==
           ncclSuccess);
  }
  std::vector<int> host(s.ranks * kInts);
  cudaMemcpyAsync(host.data(), s.target, s.ranks * bytes, cudaMemcpyDeviceToHost,
                  s.stream);  // EXPECT read
  EXPECT(cudaStreamSynchronize(s.stream) == cudaSuccess);
  for (int i = 0; i < s.ranks * kInts && defect.empty(); i++) {
    EXPECT(host[i] == 100 * (i / kInts) + i % kInts);
  }
}

// A token goes around: each wait takes over what the signal carried.
void token(const Setup& s, int rounds, bool wait_twice) {
  const int next = (s.rank + 1) % s.ranks, previous = (s.rank + s.ranks - 1) % s.ranks;
  for (int round = 0; round < rounds; round++) {
    ncclWaitSignalDesc_t from = {1, previous, 0, 0};
    if (s.rank > 0 || round > 0) {
      EXPECT(ncclWaitSignal(1, &from, s.comm, s.stream) == ncclSuccess);
    }
    EXPECT(ncclSignal(next, 0, 0, 0, s.comm, s.stream) == ncclSuccess);
  }
  ncclWaitSignalDesc_t last = {wait_twice ? 2 : 1, previous, 0, 0};
  if (s.rank == 0) {
    EXPECT(ncclWaitSignal(1, &last, s.comm, s.stream) == ncclSuccess);  // EXPECT wait_twice
  }
  EXPECT(cudaStreamSynchronize(s.stream) == cudaSuccess);
}

void rejected(const Setup& s) {
  const auto put = [&](const void* from, int peer, ncclWindow_t window, size_t offset, int signal,
                       int context, unsigned flags) {
    return ncclPutSignal(from, kInts, ncclInt, peer, window, offset, signal, context, flags, s.comm,
                         s.stream);
  };
  ncclWindow_t window = s.target_window;
  EXPECT(put(s.source, 0, nullptr, 0, 0, 0, 0) == ncclInvalidArgument);
  EXPECT(put(s.seen, 0, window, 0, 0, 0, 0) == ncclInvalidArgument);
  EXPECT(put(s.source, 0, window, 1 << 20, 0, 0, 0) == ncclInvalidArgument);
  EXPECT(put(s.source, s.ranks, window, 0, 0, 0, 0) == ncclInvalidArgument);
  EXPECT(put(s.source, 0, window, 0, 1, 0, 0) == ncclInvalidArgument);
  EXPECT(put(s.source, 0, window, 0, 0, 1, 0) == ncclInvalidArgument);
  EXPECT(put(s.source, 0, window, 0, 0, 0, 1) == ncclInvalidArgument);
  ncclWaitSignalDesc_t none = {0, 0, 0, 0};
  EXPECT(ncclWaitSignal(1, &none, s.comm, s.stream) == ncclInvalidArgument);
  EXPECT(ncclWaitSignal(0, &none, s.comm, s.stream) == ncclInvalidArgument);
}

int sum_of_ranks(const Setup& s, ncclComm_t comm) {
  int sum = -1;
  fill<<<1, 1, 0, s.stream>>>(s.seen, s.rank);
  EXPECT(ncclAllReduce(s.seen, s.seen, 1, ncclInt, ncclSum, comm, s.stream) == ncclSuccess);
  cudaMemcpyAsync(&sum, s.seen, sizeof sum, cudaMemcpyDeviceToHost, s.stream);
  EXPECT(cudaStreamSynchronize(s.stream) == cudaSuccess);
  return sum;
}

// The last rank leaves, and comes back with ncclCommGrow.
void resize(const Setup& s) {
  int last = s.ranks - 1, count = 0, rank = -1;
  ncclComm_t small = nullptr, grown = nullptr;
  ncclUniqueId id;
  if (s.rank != last) {
    EXPECT(ncclCommShrink(s.comm, &last, 1, &small, nullptr, NCCL_SHRINK_DEFAULT) == ncclSuccess);
    EXPECT(ncclCommCount(small, &count) == ncclSuccess && count == last);
    EXPECT(sum_of_ranks(s, small) == last * (last - 1) / 2);
    if (s.rank == 0) EXPECT(ncclCommGetUniqueId(small, &id) == ncclSuccess);
  } else {
    EXPECT(ncclCommShrink(s.comm, &last, 1, &small, nullptr, NCCL_SHRINK_DEFAULT) ==
           ncclInvalidArgument);
  }
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  const bool stayed = s.rank != last;
  EXPECT(ncclCommGrow(stayed ? small : nullptr, s.ranks, s.rank == 0 || !stayed ? &id : nullptr,
                      stayed ? -1 : last, &grown, nullptr) == ncclSuccess);
  EXPECT(ncclCommUserRank(grown, &rank) == ncclSuccess && rank == s.rank);
  EXPECT(sum_of_ranks(s, grown) == s.ranks * (s.ranks - 1) / 2);
  EXPECT(ncclCommDestroy(grown) == ncclSuccess);
  if (small) EXPECT(ncclCommDestroy(small) == ncclSuccess);
}

void supported(const Setup& s) {
  ncclCommProperties_t props = NCCL_COMM_PROPERTIES_INITIALIZER;
  EXPECT(ncclCommQueryProperties(s.comm, &props) == ncclSuccess && props.hostRmaSupport);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 31, 0)
void configured(const Setup& s) {
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.maxCTAs = 4;
  int sum = 0;
  fill<<<1, 1, 0, s.stream>>>(s.seen, s.rank);
  EXPECT(ncclAllReduceConfig(s.seen, s.seen, 1, ncclInt, ncclSum, s.comm, s.stream, &config) ==
         ncclSuccess);
  EXPECT(ncclBroadcastConfig(s.seen, s.seen, 1, ncclInt, 0, s.comm, s.stream, nullptr) ==
         ncclSuccess);
  cudaMemcpyAsync(&sum, s.seen, sizeof sum, cudaMemcpyDeviceToHost, s.stream);
  EXPECT(cudaStreamSynchronize(s.stream) == cudaSuccess);
  EXPECT(sum == s.ranks * (s.ranks - 1) / 2);
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
  cudaStreamCreate(&s.stream);
  const size_t bytes = 4096;
  ncclMemAlloc(reinterpret_cast<void**>(&s.source), bytes);
  ncclMemAlloc(reinterpret_cast<void**>(&s.target), bytes);
  cudaMalloc(&s.seen, bytes);
  EXPECT(ncclCommWindowRegister(s.comm, s.source, bytes, &s.source_window,
                                NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
  EXPECT(ncclCommWindowRegister(s.comm, s.target, bytes, &s.target_window,
                                NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
  if (defect == "rejected") rejected(s);
  all_to_all(s, defect);
  token(s, 2, defect == "wait_twice");
  if (defect.empty()) {
    supported(s);
    resize(s);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 31, 0)
    configured(s);
#endif
  }
  // Deregistration is local: everybody must be done first.
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(ncclCommWindowDeregister(s.comm, s.target_window) == ncclSuccess);
  EXPECT(ncclCommWindowDeregister(s.comm, s.source_window) == ncclSuccess);
  ncclMemFree(s.source);
  ncclMemFree(s.target);
  cudaFree(s.seen);
  cudaStreamDestroy(s.stream);
  ncclCommDestroy(s.comm);
  MPI_Finalize();
  return (defect.empty() || defect == "rejected") && failures != 0;
}
