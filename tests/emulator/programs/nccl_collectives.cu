// Every host collective, in place and not, with several types, operations, groups and
// communicators.
#include <cuda_fp8.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <vector>

#include "expect.h"

#define NCCL(call) EXPECT((call) == ncclSuccess)

static int rank, ranks;
static ncclComm_t comm;
static cudaStream_t stream;

template <class T>
struct Device {
  T* p = nullptr;
  explicit Device(const std::vector<T>& host) {
    CUDA(cudaMalloc(&p, host.size() * sizeof(T)));
    CUDA(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { CUDA(cudaFree(p)); }
  std::vector<T> get(size_t count) const {
    std::vector<T> host(count);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(host.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
};

// What rank `r` holds at `i`.
template <class T>
std::vector<T> values(int r, size_t count) {
  std::vector<T> v(count);
  for (size_t i = 0; i < count; i++) v[i] = T(1 + (r * 3 + i * 5) % 7);
  return v;
}

template <class T>
T expected(ncclRedOp_t op, size_t i) {
  T total = values<T>(0, i + 1)[i];
  for (int r = 1; r < ranks; r++) {
    T x = values<T>(r, i + 1)[i];
    if (op == ncclProd) total = T(total * x);
    if (op == ncclMax) total = total < x ? x : total;
    if (op == ncclMin) total = x < total ? x : total;
    if (op == ncclSum || op == ncclAvg) total = T(total + x);
  }
  return op == ncclAvg ? T(total / T(ranks)) : total;
}

template <class T>
void all_reduce(ncclDataType_t type) {
  const size_t n = 13;
  for (ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
    Device<T> send(values<T>(rank, n)), recv(std::vector<T>(n, T(0)));
    NCCL(ncclAllReduce(send.p, recv.p, n, type, op, comm, stream));
    NCCL(ncclAllReduce(send.p, send.p, n, type, op, comm, stream));
    std::vector<T> out = recv.get(n), in_place = send.get(n);
    for (size_t i = 0; i < n; i++) {
      EXPECT(out[i] == expected<T>(op, i));
      EXPECT(in_place[i] == out[i]);
    }
  }
}

void sixteen_bits() {
  const size_t n = 6;
  std::vector<__half> h(n);
  std::vector<__nv_bfloat16> b(n);
  for (size_t i = 0; i < n; i++) {
    h[i] = __float2half(0.25f * float(rank + i));
    b[i] = __float2bfloat16(0.5f * float(rank + 2 * i));
  }
  Device<__half> dh(h);
  Device<__nv_bfloat16> db(b);
  NCCL(ncclAllReduce(dh.p, dh.p, n, ncclHalf, ncclSum, comm, stream));
  NCCL(ncclAllReduce(db.p, db.p, n, ncclBfloat16, ncclMax, comm, stream));
  std::vector<__half> sum = dh.get(n);
  std::vector<__nv_bfloat16> most = db.get(n);
  for (size_t i = 0; i < n; i++) {
    float want = 0;
    for (int r = 0; r < ranks; r++) want += 0.25f * float(r + i);
    EXPECT(__half2float(sum[i]) == want);
    EXPECT(__bfloat162float(most[i]) == 0.5f * float(ranks - 1 + 2 * i));
  }
}

// Numbers that both formats have, as long as the sum is one of theirs.
void eight_bits() {
  const size_t n = 4;
  std::vector<__nv_fp8_e4m3> fine(n);
  std::vector<__nv_fp8_e5m2> wide(n);
  for (size_t i = 0; i < n; i++) {
    fine[i] = __nv_fp8_e4m3(i == 3 ? 448.0f : 0.25f * float(i));
    wide[i] = __nv_fp8_e5m2(float(rank) - 2.0f * float(i));
  }
  Device<__nv_fp8_e4m3> df(fine);
  Device<__nv_fp8_e5m2> dw(wide);
  NCCL(ncclAllReduce(df.p, df.p, n, ncclFloat8e4m3, ncclSum, comm, stream));
  NCCL(ncclAllReduce(dw.p, dw.p, n, ncclFloat8e5m2, ncclMin, comm, stream));
  std::vector<__nv_fp8_e4m3> sum = df.get(n);
  std::vector<__nv_fp8_e5m2> least = dw.get(n);
  for (size_t i = 0; i < n; i++) {
    // What is too large for E4M3 becomes its largest number.
    EXPECT(float(sum[i]) == (i == 3 ? 448.0f : 0.25f * float(i) * float(ranks)));
    EXPECT(float(least[i]) == -2.0f * float(i));
  }
}

void moves() {
  const size_t n = 3;
  const int root = ranks - 1;
  std::vector<int> mine = values<int>(rank, n), zeros(n * ranks, 0);
  Device<int> send(mine), all(zeros), bcast(mine), gathered(zeros), part(zeros), reduced(zeros);
  NCCL(ncclAllGather(send.p, all.p, n, ncclInt, comm, stream));
  NCCL(ncclBroadcast(send.p, bcast.p, n, ncclInt, root, comm, stream));
  NCCL(ncclGather(send.p, gathered.p, n, ncclInt, root, comm, stream));
  NCCL(ncclScatter(gathered.p, part.p, n, ncclInt, root, comm, stream));
  NCCL(ncclReduce(send.p, reduced.p, n, ncclInt, ncclSum, root, comm, stream));
  std::vector<int> got = all.get(n * ranks), b = bcast.get(n), p = part.get(n), r = reduced.get(n);
  for (size_t i = 0; i < n; i++) {
    for (int peer = 0; peer < ranks; peer++) {
      EXPECT(got[peer * n + i] == values<int>(peer, n)[i]);
    }
    EXPECT(b[i] == values<int>(root, n)[i]);
    EXPECT(p[i] == mine[i]);  // gathered and scattered again
    if (rank == root) EXPECT(r[i] == expected<int>(ncclSum, i));
  }
  NCCL(ncclBcast(all.p, n, ncclInt, 0, comm, stream));

  // Reduce-scatter and all-to-all, the first in place.
  std::vector<long long> wide(n * ranks);
  for (size_t i = 0; i < wide.size(); i++) wide[i] = 100 * rank + i;
  Device<long long> scatter(wide), from(wide), to(wide);
  NCCL(ncclReduceScatter(scatter.p, scatter.p + rank * n, n, ncclInt64, ncclSum, comm, stream));
  NCCL(ncclAlltoAll(from.p, to.p, n, ncclInt64, comm, stream));
  std::vector<long long> s = scatter.get(n * ranks), t = to.get(n * ranks);
  for (size_t i = 0; i < n; i++) {
    EXPECT(s[rank * n + i] == 100ll * ranks * (ranks - 1) / 2 + ranks * (long long)(rank * n + i));
    for (int peer = 0; peer < ranks; peer++) {
      EXPECT(t[peer * n + i] == 100 * peer + (long long)(rank * n + i));
    }
  }
}

void messages() {
  // A ring in one group, and a chain of ungrouped calls that no pair orders the other way round.
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  Device<int> out({rank, rank + 10}), in({-1, -1});
  NCCL(ncclGroupStart());
  NCCL(ncclGroupStart());
  NCCL(ncclSend(out.p, 2, ncclInt, next, comm, stream));
  NCCL(ncclGroupEnd());
  NCCL(ncclRecv(in.p, 2, ncclInt, previous, comm, stream));
  NCCL(ncclGroupEnd());
  EXPECT(in.get(2) == (std::vector<int>{previous, previous + 10}));
  if (rank > 0) NCCL(ncclRecv(in.p, 1, ncclInt, rank - 1, comm, stream));
  if (rank < ranks - 1) NCCL(ncclSend(out.p, 1, ncclInt, rank + 1, comm, stream));
  if (rank > 0) EXPECT(in.get(1)[0] == rank - 1);
  // To itself, and a group that mixes messages with a collective.
  Device<int> self({0});
  NCCL(ncclGroupStart());
  NCCL(ncclSend(out.p, 1, ncclInt, rank, comm, stream));
  NCCL(ncclRecv(self.p, 1, ncclInt, rank, comm, stream));
  NCCL(ncclAllReduce(out.p + 1, in.p + 1, 1, ncclInt, ncclMax, comm, stream));
  NCCL(ncclGroupEnd());
  EXPECT(self.get(1)[0] == rank);
  EXPECT(in.get(2)[1] == ranks - 1 + 10);
}

void scaled_sum() {
  float factor = 0.5f + rank;
  ncclRedOp_t op, from_device;
  Device<float> scalar({factor}), a({2.0f, 4.0f}), b({2.0f, 4.0f});
  NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat, ncclScalarHostImmediate, comm));
  NCCL(ncclRedOpCreatePreMulSum(&from_device, scalar.p, ncclFloat, ncclScalarDevice, comm));
  factor = 0;  // an immediate scalar was read when the operation was made
  NCCL(ncclAllReduce(a.p, a.p, 2, ncclFloat, op, comm, stream));
  NCCL(ncclAllReduce(b.p, b.p, 2, ncclFloat, from_device, comm, stream));
  NCCL(ncclRedOpDestroy(op, comm));
  NCCL(ncclRedOpDestroy(from_device, comm));
  float sum = 0;
  for (int r = 0; r < ranks; r++) sum += 0.5f + r;
  EXPECT(a.get(2) == (std::vector<float>{2 * sum, 4 * sum}));
  EXPECT(b.get(2) == a.get(2));
}

void split() {
  ncclComm_t half = nullptr, none = nullptr;
  NCCL(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr));
  NCCL(ncclCommSplit(comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &none, nullptr));
  EXPECT((none == nullptr) == (rank == 0));
  int size, order;
  NCCL(ncclCommCount(half, &size));
  NCCL(ncclCommUserRank(half, &order));
  EXPECT(size == (ranks + (rank % 2 == 0)) / 2);
  EXPECT(order == (ranks - 1 - rank) / 2);  // the largest rank comes first
  Device<int> x({rank});
  NCCL(ncclAllReduce(x.p, x.p, 1, ncclInt, ncclSum, half, stream));
  int want = 0;
  for (int r = rank % 2; r < ranks; r += 2) want += r;
  EXPECT(x.get(1)[0] == want);
  NCCL(ncclCommDestroy(half));
  if (none) NCCL(ncclCommDestroy(none));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  CUDA(cudaStreamCreate(&stream));
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  ncclResult_t state = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  EXPECT(state == ncclSuccess || state == ncclInProgress);
  while (state == ncclInProgress) NCCL(ncclCommGetAsyncError(comm, &state));
  int version, device;
  NCCL(ncclGetVersion(&version));
  EXPECT(version == NCCL_VERSION_CODE);
  NCCL(ncclCommCuDevice(comm, &device));
  EXPECT(device == rank);

  all_reduce<int>(ncclInt32);
  all_reduce<unsigned char>(ncclUint8);
  all_reduce<double>(ncclFloat64);
  sixteen_bits();
  eight_bits();
  moves();
  messages();
  scaled_sum();
  split();
  // Nothing to destroy is no error.
  NCCL(ncclCommFinalize(nullptr));
  NCCL(ncclCommAbort(nullptr));
  NCCL(ncclCommDestroy(nullptr));

  NCCL(ncclCommFinalize(comm));
  NCCL(ncclCommDestroy(comm));
  CUDA(cudaStreamDestroy(stream));
  MPI_Finalize();
  return failures != 0;
}
