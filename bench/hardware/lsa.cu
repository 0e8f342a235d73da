// The NCCL Device API over load and store access: barriers, stores, loads, small exchanges.
//
//     lsa [RANKS]
#include <nccl_device.h>

#include "ranks.h"

namespace {

constexpr size_t kBytes = size_t{128} << 20;
constexpr int kBarriers = 132;

__global__ void barriers(ncclDevComm dev, int rounds) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  for (int i = 0; i < rounds; ++i) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void fill(float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = make_float4(i, 1, 2, 3);
  }
}

// Each rank moves its part to (or from) every other one, `peer` by `peer`.
template <bool kStore>
__global__ void exchange(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to, size_t count) {
  ncclTeam lsa = ncclTeamLsa(dev);
  for (int step = 1; step < lsa.nRanks; ++step) {
    int peer = (lsa.rank + step) % lsa.nRanks;
    const float4* source = static_cast<const float4*>(kStore ? ncclGetLocalPointer(from, 0)
                                                             : ncclGetLsaPointer(from, 0, peer));
    float4* target =
        static_cast<float4*>(kStore ? ncclGetLsaPointer(to, 0, peer) : ncclGetLocalPointer(to, 0));
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
      target[i] = source[i];
    }
  }
}

// A whole small all-to-all: barrier, stores, barrier.
__global__ void all_to_all(ncclDevComm dev, ncclWindow_t from, ncclWindow_t to, size_t words) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  ncclTeam lsa = ncclTeamLsa(dev);
  const float* source = static_cast<const float*>(ncclGetLocalPointer(from, 0));
  for (int peer = 0; peer < lsa.nRanks; ++peer) {
    float* target = static_cast<float*>(ncclGetLsaPointer(to, lsa.rank * words * 4, peer));
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < words;
         i += size_t(gridDim.x) * blockDim.x) {
      target[i] = source[peer * words + i];
    }
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

void tell(const Rank& r, const char* bench, const std::string& fields, const char* unit, Spread s) {
  if (r.rank == 0) report(bench, field("ranks", r.ranks) + ", " + fields, unit, s);
}

void measure(Rank& r, ncclDevComm dev, ncclWindow_t from, ncclWindow_t to) {
  for (int ctas : {1, 4, 16, 32, 64, 132}) {
    constexpr int kRounds = 100;
    for (int threads : {32, 256, 512}) {
      Spread t = r.slowest(7, 1, [&] { barriers<<<ctas, threads, 0, r.stream>>>(dev, kRounds); });
      tell(r, "lsa_barrier", field("ctas", ctas) + ", " + field("threads", threads), "us",
           scaled(t, 1.0 / kRounds));
    }
  }
  for (int ctas : {1, 2, 4, 8, 16, 32, 64, 132, 264}) {
    for (int threads : {256, 1024}) {
      size_t bytes = ctas < 8 ? kBytes / 16 : kBytes;
      double sent = double(bytes) * (r.ranks - 1);
      std::string f = field("ctas", ctas) + ", " + field("threads", threads) + ", " +
                      field("bytes_each", bytes);
      Spread s = r.slowest(
          5, 1, [&] { exchange<true><<<ctas, threads, 0, r.stream>>>(dev, from, to, bytes / 16); });
      tell(r, "lsa_store_all_ranks", f, "GB/s out of each rank", rate(1e-3 * sent, s));
      Spread l = r.slowest(5, 1, [&] {
        exchange<false><<<ctas, threads, 0, r.stream>>>(dev, from, to, bytes / 16);
      });
      tell(r, "lsa_load_all_ranks", f, "GB/s into each rank", rate(1e-3 * sent, l));
    }
  }
  for (size_t words : {2, 128, 1024, 16384, 262144, 4194304}) {
    for (int ctas : {1, 4, 16, 64}) {
      std::string f = field("bytes_per_peer", words * 4) + ", " + field("ctas", ctas) + ", " +
                      field("threads", 512);
      Spread alone =
          r.slowest(9, 1, [&] { all_to_all<<<ctas, 512, 0, r.stream>>>(dev, from, to, words); });
      tell(r, "lsa_all_to_all_alone", f, "us", alone);
      Spread row =
          r.slowest(9, 10, [&] { all_to_all<<<ctas, 512, 0, r.stream>>>(dev, from, to, words); });
      tell(r, "lsa_all_to_all_in_a_row_of_10", f, "us", row);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 0;
  CUDA(cudaGetDeviceCount(&ranks));
  if (argc > 1) ranks = atoi(argv[1]);
  return over_ranks(ranks, [&](Rank& r) {
    void *send, *receive;
    ncclWindow_t from, to;
    NCCL(ncclMemAlloc(&send, kBytes));
    NCCL(ncclMemAlloc(&receive, kBytes));
    fill<<<528, 512, 0, r.stream>>>((float4*)send, kBytes / 16);
    CUDA(cudaStreamSynchronize(r.stream));
    NCCL(ncclCommWindowRegister(r.comm, send, kBytes, &from, NCCL_WIN_COLL_SYMMETRIC));
    NCCL(ncclCommWindowRegister(r.comm, receive, kBytes, &to, NCCL_WIN_COLL_SYMMETRIC));
    if (from == nullptr || to == nullptr) {
      fprintf(stderr, "rank %d: no symmetric window\n", r.rank);
      exit(3);
    }
#if defined(NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER)
    ncclDevCommRequirements wanted = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
    ncclDevCommRequirements wanted{};
#endif
    wanted.lsaBarrierCount = kBarriers;
    ncclDevComm dev;
    NCCL(ncclDevCommCreate(r.comm, &wanted, &dev));
    if (r.rank == 0) {
      printf("{\"bench\": \"dev_comm\", \"ranks\": %d, \"lsa_size\": %d}\n", dev.nRanks,
             dev.lsaSize);
    }
    if (dev.lsaSize == r.ranks) measure(r, dev, from, to);
    CUDA(cudaStreamSynchronize(r.stream));
    r.meet();
    NCCL(ncclDevCommDestroy(r.comm, &dev));
    NCCL(ncclCommWindowDeregister(r.comm, from));
    NCCL(ncclCommWindowDeregister(r.comm, to));
    NCCL(ncclMemFree(send));
    NCCL(ncclMemFree(receive));
  });
}
