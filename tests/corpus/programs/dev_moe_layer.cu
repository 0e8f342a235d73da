// CORPUS run=2,4,4/2
// Dispatch and combine of a mixture of experts in one kernel: tokens to the expert's rank with a
// count put behind them as a value, the answers back to the tokens' own places.
//
// DEFECT COUNT_FIRST missing_wait: the count overtakes the tokens, its signal covers only itself
// DEFECT WEAK_COUNT missing_wait: a weak signal on the count settles no token
// DEFECT NO_ANSWER_WAIT missing_wait: combines before the answers are there
// DEFECT ONE_ANSWER_LESS missing_wait: waits for one answer less than there are experts' ranks
// DEFECT SAME_BLOCK overlapping_puts: all ranks put their answers to the same block
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace moe {

constexpr int kTokens = 12, kHidden = 8, kLayers = 2;
constexpr ncclGinSignal_t kDispatched = 0, kCombined = 1;

struct Windows {
  ncclWindow_t send, recv, answer, back, counts;
};

__host__ __device__ inline int route(int rank, int token, int layer, int ranks) {
  return (rank * 5 + token * 3 + layer) % ranks;
}
__host__ __device__ inline int expert(int value, int rank) { return value * 3 + rank; }
__host__ __device__ inline int token_value(int rank, int token, int h, int layer) {
  return rank * 1000 + token * 50 + h + layer * 7;
}

__device__ inline size_t block(int rank) { return size_t(rank) * kTokens * kHidden * sizeof(int); }

template <typename Coop>
__device__ void dispatch(ncclGin const& gin, ncclTeam world, Windows w, int layer, Coop coop) {
  int* send = static_cast<int*>(ncclGetLocalPointer(w.send, 0));
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    int count = 0;
    for (int t = 0; t < kTokens; ++t) {
      if (route(world.rank, t, layer, world.nRanks) != peer) continue;
      for (int h = 0; h < kHidden; ++h) {
        send[(peer * kTokens + count) * kHidden + h] = token_value(world.rank, t, h, layer);
      }
      ++count;
    }
    const size_t slot = world.rank * sizeof(uint64_t);
#if defined(DEFECT_COUNT_FIRST)
    gin.putValue(world, peer, w.counts, slot, uint64_t(count), ncclGin_StrongSignalInc{kDispatched});
#endif
    if (count > 0) {
      gin.put(world, peer, w.recv, block(world.rank), w.send, block(peer), count * kHidden * sizeof(int));
    }
#if defined(DEFECT_WEAK_COUNT)
    gin.putValue(world, peer, w.counts, slot, uint64_t(count), ncclGin_WeakSignalInc{kDispatched});
#elif !defined(DEFECT_COUNT_FIRST)
    gin.putValue(world, peer, w.counts, slot, uint64_t(count), ncclGin_StrongSignalInc{kDispatched});
#endif
  }
  coop.sync();
}

__global__ void layer(ncclDevComm dev, Windows w, int* out, int number) {
  ncclCoopCta cta;
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  ncclGinBarrier(cta, gin, ncclTeamTagWorld(), 0, cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  dispatch(gin, world, w, number, cta);
  gin.waitSignal(cta, kDispatched, uint64_t(number + 1) * world.nRanks);

  auto* counts = static_cast<uint64_t*>(ncclGetLocalPointer(w.counts, 0));
  auto* recv = static_cast<int*>(ncclGetLocalPointer(w.recv, 0));
  auto* answer = static_cast<int*>(ncclGetLocalPointer(w.answer, 0));
  for (int from = 0; from < world.nRanks; ++from) {
    const int n = int(counts[from]) * kHidden;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      const size_t at = block(from) / sizeof(int) + i;
      // EXPECT COUNT_FIRST WEAK_COUNT
      answer[at] = expert(recv[at], world.rank);
    }
  }
  cta.sync();
  for (int from = threadIdx.x; from < world.nRanks; from += blockDim.x) {
    const size_t bytes = counts[from] * kHidden * sizeof(int);
#if defined(DEFECT_SAME_BLOCK)
    const size_t place = block(0);
#else
    const size_t place = block(world.rank);
#endif
    // EXPECT SAME_BLOCK
    gin.put(world, from, w.back, place, w.answer, block(from), bytes, ncclGin_WeakSignalInc{kCombined});
  }
#if defined(DEFECT_ONE_ANSWER_LESS)
  gin.waitSignal(cta, kCombined, uint64_t(number + 1) * world.nRanks - 1);
#elif !defined(DEFECT_NO_ANSWER_WAIT)
  gin.waitSignal(cta, kCombined, uint64_t(number + 1) * world.nRanks);
#endif
  const int* back = static_cast<const int*>(ncclGetLocalPointer(w.back, 0));
  for (int t = threadIdx.x; t < kTokens; t += blockDim.x) {
    const int owner = route(world.rank, t, number, world.nRanks);
    int place = 0;
    for (int u = 0; u < t; ++u) place += route(world.rank, u, number, world.nRanks) == owner;
    for (int h = 0; h < kHidden; ++h) {
      // EXPECT NO_ANSWER_WAIT ONE_ANSWER_LESS
      out[t * kHidden + h] = back[block(owner) / sizeof(int) + place * kHidden + h];
    }
  }
  gin.flush(cta);
}

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void ok(cudaError_t s) {
  if (s != cudaSuccess) throw Error(std::string("CUDA: ") + cudaGetErrorString(s));
}
inline void ok(ncclResult_t s) {
  if (s != ncclSuccess) throw Error(std::string("NCCL: ") + ncclGetErrorString(s));
}

struct Symmetric {
  ncclComm_t comm;
  void* memory = nullptr;
  ncclWindow_t window = nullptr;
  Symmetric(ncclComm_t comm, size_t bytes) : comm(comm) {
    ok(ncclMemAlloc(&memory, bytes));
    ok(ncclCommWindowRegister(comm, memory, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
  }
  ~Symmetric() {
    ncclCommWindowDeregister(comm, window);
    ncclMemFree(memory);
  }
};

int run(int rank, int ranks, ncclUniqueId id) {
  ok(cudaSetDevice(rank));
  ncclComm_t comm;
  ok(ncclCommInitRank(&comm, ranks, id, rank));
  int wrong = 0;
  {
    const size_t bytes = size_t(ranks) * kTokens * kHidden * sizeof(int);
    Symmetric send(comm, bytes), recv(comm, bytes), answer(comm, bytes), back(comm, bytes);
    Symmetric counts(comm, ranks * sizeof(uint64_t));
    ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    reqs.ginSignalCount = 2;
    reqs.worldGinBarrierCount = 1;
    reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
    ncclDevComm dev;
    ok(ncclDevCommCreate(comm, &reqs, &dev));
    int* out;
    ok(cudaMalloc(&out, kTokens * kHidden * sizeof(int)));
    for (int number = 0; number < kLayers; ++number) {
      layer<<<1, 32>>>(dev, {send.window, recv.window, answer.window, back.window, counts.window}, out, number);
      ok(cudaGetLastError());
      std::vector<int> got(kTokens * kHidden);
      ok(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
      for (int i = 0; i < kTokens * kHidden; ++i) {
        const int t = i / kHidden;
        wrong += got[i] != expert(token_value(rank, t, i % kHidden, number), route(rank, t, number, ranks));
      }
    }
    ok(cudaFree(out));
    ok(ncclDevCommDestroy(comm, &dev));
  }
  ok(ncclCommDestroy(comm));
  return wrong;
}

}  // namespace moe

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, code = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0 && ncclGetUniqueId(&id) != ncclSuccess) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  try {
    const int wrong = moe::run(rank, ranks, id);
    std::cout << "rank " << rank << ": " << wrong << " wrong" << std::endl;
    code = wrong != 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
