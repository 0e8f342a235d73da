// All-to-all among the ranks, by stores into each other's memory, by puts and by NCCL's host calls;
// and work overlapped with copies in chunks. One process drives all devices.
//
//     exchange [BYTES_A_PAIR [BLOCKS]]
#include <nccl.h>
#include <nccl_device.h>
#include <cuda/atomic>

#include <algorithm>
#include <thread>
#include <vector>

#include "timing.h"

#define NCCL(call)                                                            \
  do {                                                                        \
    ncclResult_t result_ = (call);                                            \
    if (result_ != ncclSuccess) {                                             \
      fprintf(stderr, "%s:%d: NCCL error %d\n", __FILE__, __LINE__, result_); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

namespace {

constexpr int kBlocks = 64;
constexpr int kLength = 320;                     // microseconds of work
constexpr size_t kPipelined = size_t{96} << 20;  // bytes that follow it

__global__ void lsa_barriers(ncclDevComm dev, int rounds) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  for (int i = 0; i < rounds; i++) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void lsa_all_to_all(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to, size_t words) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  ncclTeam lsa = ncclTeamLsa(dev);
  const float* source = static_cast<const float*>(ncclGetLocalPointer(from, 0));
  for (int peer = 0; peer < lsa.nRanks; peer++) {
    float* target = static_cast<float*>(ncclGetLsaPointer(to, lsa.rank * words * 4, peer));
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < words;
         i += size_t(gridDim.x) * blockDim.x) {
      target[i] = source[peer * words + i];
    }
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

// The same with all peers side by side and 16 bytes at a time, as one would write it for speed.
__global__ void lsa_all_to_all_wide(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to,
                                    size_t bytes) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  ncclTeam lsa = ncclTeamLsa(dev);
  const float4* source = static_cast<const float4*>(ncclGetLocalPointer(from, 0));
  const size_t each = bytes / sizeof(float4);
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < each * lsa.nRanks;
       i += size_t(gridDim.x) * blockDim.x) {
    float4* target = static_cast<float4*>(ncclGetLsaPointer(to, lsa.rank * bytes, i / each));
    target[i % each] = source[i];
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void gin_all_to_all(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to, size_t bytes) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  const uint64_t before = gin.readSignal(0);
  ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, world, dev.worldGinBarrier, 0);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, to, world.rank * bytes, from, peer * bytes, bytes, ncclGin_SignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, before + world.nRanks);
  gin.flush(ncclCoopCta());
}

// Stands for work that takes a known time.
__global__ void take(int microseconds) {
  for (int i = 0; i < microseconds; i++) __nanosleep(1000);
}

struct Rank {
  int rank, ranks, most_blocks;
  size_t most;  // bytes a pair
  ncclComm_t comm;
  cudaStream_t stream, other;
  float *send, *receive, *mine, *peer;
  ncclWindow_t from, to;
  ncclDevComm dev;
};

void exchanges(Rank& r) {
  auto say = [&](const char* what, size_t n, double us) {
    char name[64];
    snprintf(name, sizeof name, "%s/%zu", what, n);
    if (r.rank == 0) tell(name, us);
  };
  constexpr int kRow = 3;
  auto row = [&](auto work) {
    return microseconds(r.stream,
                        [&] {
                          for (int i = 0; i < kRow; i++) work();
                        }) /
           kRow;
  };
  for (int blocks = 1; blocks <= r.most_blocks; blocks *= 4) {
    const double few =
        microseconds(r.stream, [&] { lsa_barriers<<<blocks, 256, 0, r.stream>>>(r.dev, 1); });
    const double many =
        microseconds(r.stream, [&] { lsa_barriers<<<blocks, 256, 0, r.stream>>>(r.dev, 6); });
    say("lsa_barrier_us", blocks, (many - few) / 5);
  }
  for (size_t bytes : {size_t{16}, size_t{4096}, size_t{65536}}) {
    if (bytes > r.most) continue;
    for (int blocks = 1; blocks <= r.most_blocks; blocks *= 4) {
      char what[32];
      snprintf(what, sizeof what, "lsa_all_to_all_%d", blocks);
      say(what, bytes, row([&] {
            lsa_all_to_all<<<blocks, 512, 0, r.stream>>>(r.dev, r.from, r.to, bytes / 4);
          }));
    }
    say("lsa_all_to_all_wide", bytes, row([&] {
          lsa_all_to_all_wide<<<r.most_blocks, 512, 0, r.stream>>>(r.dev, r.from, r.to, bytes);
        }));
    say("host_all_to_all", bytes, row([&] {
          NCCL(ncclAlltoAll(r.send, r.receive, bytes / 4, ncclFloat, r.comm, r.stream));
        }));
    say("gin_all_to_all", bytes,
        row([&] { gin_all_to_all<<<1, 128, 0, r.stream>>>(r.dev, r.from, r.to, bytes); }));
  }
}

// Send in `chunks` pieces, each as soon as it is computed.
double pipelined(Rank& r, int chunks, int length, size_t bytes) {
  std::vector<cudaEvent_t> ready(chunks);
  for (auto& e : ready) CUDA(cudaEventCreate(&e));
  cudaEvent_t sent;
  CUDA(cudaEventCreate(&sent));
  const double us = microseconds(r.stream, [&] {
    for (int c = 0; c < chunks; c++) {
      take<<<1, 32, 0, r.stream>>>(length / chunks);
      CUDA(cudaEventRecord(ready[c], r.stream));
      CUDA(cudaStreamWaitEvent(r.other, ready[c], 0));
      const size_t part = bytes / chunks, at = c * part / 4;
      CUDA(cudaMemcpyPeerAsync(r.peer + at, 1, r.mine + at, 0, part, r.other));
    }
    CUDA(cudaEventRecord(sent, r.other));
    CUDA(cudaStreamWaitEvent(r.stream, sent, 0));
  });
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 0;
  CUDA(cudaGetDeviceCount(&ranks));
  const size_t most = argc > 1 ? strtoull(argv[1], nullptr, 10) : 65536;
  const int blocks = argc > 2 ? atoi(argv[2]) : 16;
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++) {
    threads.emplace_back([=] {
      CUDA(cudaSetDevice(rank));
      Rank r{};
      r.rank = rank;
      r.ranks = ranks;
      r.most = most;
      r.most_blocks = blocks;
      const size_t bytes = most * ranks;
      NCCL(ncclCommInitRank(&r.comm, ranks, id, rank));
      CUDA(cudaStreamCreate(&r.stream));
      CUDA(cudaStreamCreate(&r.other));
      NCCL(ncclMemAlloc((void**)&r.send, bytes));
      NCCL(ncclMemAlloc((void**)&r.receive, bytes));
      CUDA(cudaMemset(r.send, 0, bytes));
      NCCL(ncclCommWindowRegister(r.comm, r.send, bytes, &r.from, NCCL_WIN_COLL_SYMMETRIC));
      NCCL(ncclCommWindowRegister(r.comm, r.receive, bytes, &r.to, NCCL_WIN_COLL_SYMMETRIC));
      ncclDevCommRequirements wanted = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
      wanted.lsaBarrierCount = kBlocks;
      wanted.worldGinBarrierCount = 1;
      wanted.ginSignalCount = 1;
      wanted.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
      NCCL(ncclDevCommCreate(r.comm, &wanted, &r.dev));
      exchanges(r);
      if (rank == 0 && ranks <= 4) {
        CUDA(cudaMalloc(&r.mine, kPipelined));
        CUDA(cudaSetDevice(1));
        CUDA(cudaMalloc(&r.peer, kPipelined));
        CUDA(cudaSetDevice(0));
      }
      for (int chunks : {1, 2, 4, 8, 16}) {
        char name[32];
        snprintf(name, sizeof name, "pipeline_us/%d", chunks);
        if (rank == 0 && ranks <= 4) tell(name, pipelined(r, chunks, kLength, kPipelined));
      }
      CUDA(cudaStreamSynchronize(r.stream));
      NCCL(ncclDevCommDestroy(r.comm, &r.dev));
      NCCL(ncclCommWindowDeregister(r.comm, r.from));
      NCCL(ncclCommWindowDeregister(r.comm, r.to));
      NCCL(ncclCommDestroy(r.comm));
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}
