// Times of host NCCL's operations over sizes, alone and in a row; one thread and GPU per rank.
//
//     collectives [RANKS]
#include "ranks.h"

namespace {

constexpr size_t kLargest = size_t{256} << 20;

__global__ void fill(float* to, size_t count, float value) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = value + i % 7;
  }
}

void measure(Rank& r, const char* name, const char* memory, size_t bytes,
             const std::function<void()>& work) {
  int repeats = bytes > (size_t{32} << 20) ? 7 : 11;
  Spread alone = r.slowest(repeats, 1, work);
  Spread row = r.slowest(repeats, 10, work);
  if (r.rank != 0) return;
  std::string f = field("operation", name) + ", " + field("ranks", r.ranks) + ", " +
                  field("memory", memory) + ", " + field("bytes", bytes);
  report("collective_alone", f, "us", alone);
  report("collective_in_a_row_of_10", f, "us", row);
}

void all(Rank& r, const char* memory, float* send, float* receive) {
  int n = r.ranks;
  for (size_t bytes = 8; bytes <= kLargest; bytes *= 8) {
    size_t count = bytes / 4, part = count / n;
    measure(r, "AllReduce", memory, bytes, [&] {
      NCCL(ncclAllReduce(send, receive, count, ncclFloat, ncclSum, r.comm, r.stream));
    });
    if (part == 0) continue;
    measure(r, "AllGather", memory, part * n * 4,
            [&] { NCCL(ncclAllGather(send, receive, part, ncclFloat, r.comm, r.stream)); });
    measure(r, "ReduceScatter", memory, part * n * 4, [&] {
      NCCL(ncclReduceScatter(send, receive, part, ncclFloat, ncclSum, r.comm, r.stream));
    });
    measure(r, "AlltoAll", memory, part * n * 4,
            [&] { NCCL(ncclAlltoAll(send, receive, part, ncclFloat, r.comm, r.stream)); });
    measure(r, "Broadcast", memory, bytes,
            [&] { NCCL(ncclBroadcast(send, receive, count, ncclFloat, 0, r.comm, r.stream)); });
    measure(r, "SendRecv_ring", memory, bytes, [&] {
      NCCL(ncclGroupStart());
      NCCL(ncclSend(send, count, ncclFloat, (r.rank + 1) % n, r.comm, r.stream));
      NCCL(ncclRecv(receive, count, ncclFloat, (r.rank + n - 1) % n, r.comm, r.stream));
      NCCL(ncclGroupEnd());
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 0, version = 0;
  CUDA(cudaGetDeviceCount(&ranks));
  if (argc > 1) ranks = atoi(argv[1]);
  NCCL(ncclGetVersion(&version));
  printf("{\"bench\": \"nccl\", \"version\": %d, \"ranks\": %d}\n", version, ranks);
  return over_ranks(ranks, [&](Rank& r) {
    float *send, *receive;
    CUDA(cudaMalloc(&send, kLargest));
    CUDA(cudaMalloc(&receive, kLargest));
    fill<<<528, 512, 0, r.stream>>>(send, kLargest / 4, r.rank);
    all(r, "cudaMalloc", send, receive);
    CUDA(cudaFree(send));
    CUDA(cudaFree(receive));
    ncclWindow_t ws, wr;
    NCCL(ncclMemAlloc((void**)&send, kLargest));
    NCCL(ncclMemAlloc((void**)&receive, kLargest));
    fill<<<528, 512, 0, r.stream>>>(send, kLargest / 4, r.rank);
    CUDA(cudaStreamSynchronize(r.stream));
    NCCL(ncclCommWindowRegister(r.comm, send, kLargest, &ws, NCCL_WIN_COLL_SYMMETRIC));
    NCCL(ncclCommWindowRegister(r.comm, receive, kLargest, &wr, NCCL_WIN_COLL_SYMMETRIC));
    if (r.rank == 0) {
      printf("{\"bench\": \"windows\", \"send\": %d, \"receive\": %d}\n", ws != nullptr,
             wr != nullptr);
    }
    all(r, "symmetric window", send, receive);
    if (ws != nullptr) NCCL(ncclCommWindowDeregister(r.comm, ws));
    if (wr != nullptr) NCCL(ncclCommWindowDeregister(r.comm, wr));
    NCCL(ncclMemFree(send));
    NCCL(ncclMemFree(receive));
  });
}
