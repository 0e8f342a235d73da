// CORPUS run=2,4 nccl=2.28.9
// CORPUS run=2,4,8
// Every host collective once, on integers, in a fixed order; results are checked on the host.
//
// DEFECT ORDER collective_mismatch: odd ranks call two collectives in the other order
// DEFECT COUNT collective_mismatch: the last rank reduces one element less
// DEFECT DTYPE collective_mismatch: rank 0 gathers the same bytes under another type
// DEFECT OP collective_mismatch: odd ranks ask for the maximum
// DEFECT ROOT collective_mismatch: each rank names itself as the root
// DEFECT SKIPPED collective_mismatch: rank 0 leaves one collective out
// DEFECT RECV_TOO_SMALL out_of_bounds: the gathered blocks do not fit into the buffer
#include "harness.h"

#include <algorithm>

constexpr int kInts = 16;

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const int n = job.ranks, total = n * kInts;
  const bool odd = job.rank % 2 == 1, last = job.rank == n - 1;
  std::vector<int> host(total), got(total);
  for (int i = 0; i < total; ++i) host[i] = value(job.rank, i / kInts, i % kInts, 0) % 10007;
  auto sum_at = [&](int i) {
    int sum = 0;
    for (int r = 0; r < n; ++r) sum += value(r, i / kInts, i % kInts, 0) % 10007;
    return sum;
  };
  int *send, *recv;
  CHECK(cudaMalloc(&send, total * sizeof(int)));
#if defined(DEFECT_RECV_TOO_SMALL)
  CHECK(cudaMalloc(&recv, (total - 1) * sizeof(int)));
#else
  CHECK(cudaMalloc(&recv, total * sizeof(int)));
#endif
  CHECK(cudaMemcpy(send, host.data(), total * sizeof(int), cudaMemcpyHostToDevice));
  bool good = true;
  auto fetch = [&](int ints) {
    CHECK(cudaStreamSynchronize(job.stream));
    CHECK(cudaMemcpy(got.data(), recv, ints * sizeof(int), cudaMemcpyDeviceToHost));
  };

  ncclRedOp_t op = ncclSum;
  size_t count = kInts;
#if defined(DEFECT_OP)
  if (odd) op = ncclMax;
#elif defined(DEFECT_COUNT)
  if (last) count -= 1;
#endif
  // EXPECT OP COUNT
  CHECK(ncclAllReduce(send, recv, count, ncclInt32, op, job.comm, job.stream));
  fetch(kInts);
  for (int i = 0; i < kInts; ++i) good = good && (i >= int(count) || got[i] == sum_at(i));

#if defined(DEFECT_DTYPE)
  if (job.rank == 0) {
    // EXPECT DTYPE
    CHECK(ncclAllGather(send, recv, kInts / 2, ncclInt64, job.comm, job.stream));
  } else
#endif
    // EXPECT DTYPE RECV_TOO_SMALL
    CHECK(ncclAllGather(send, recv, kInts, ncclInt32, job.comm, job.stream));
#if !defined(DEFECT_RECV_TOO_SMALL)
  fetch(total);
  for (int i = 0; i < total; ++i) {
    good = good && got[i] == value(i / kInts, 0, i % kInts, 0) % 10007;
  }
#endif

#if defined(DEFECT_SKIPPED)
  if (job.rank != 0)
#endif
    // EXPECT SKIPPED
    CHECK(ncclReduceScatter(send, recv, kInts, ncclInt32, ncclSum, job.comm, job.stream));
  fetch(kInts);
#if !defined(DEFECT_SKIPPED)
  for (int i = 0; i < kInts; ++i) good = good && got[i] == sum_at(job.rank * kInts + i);
#endif

  int root = n - 1;
#if defined(DEFECT_ROOT)
  root = job.rank;
#endif
  // EXPECT ROOT SKIPPED
  CHECK(ncclBroadcast(send, recv, kInts, ncclInt32, root, job.comm, job.stream));
  fetch(kInts);
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(root, 0, i, 0) % 10007;

#if defined(DEFECT_ORDER)
  if (odd) {
    // EXPECT ORDER
    CHECK(ncclAlltoAll(send, recv, kInts, ncclInt32, job.comm, job.stream));
  }
#endif
  // EXPECT ORDER
  CHECK(ncclReduce(send, recv, kInts, ncclInt32, ncclMin, 0, job.comm, job.stream));
  fetch(kInts);
  for (int i = 0; i < kInts && job.rank == 0; ++i) {
    int least = host[i];
    for (int r = 1; r < n; ++r) least = std::min(least, value(r, 0, i, 0) % 10007);
    good = good && got[i] == least;
  }

#if defined(DEFECT_ORDER)
  if (!odd)
#endif
    // EXPECT ORDER
    CHECK(ncclAlltoAll(send, recv, kInts, ncclInt32, job.comm, job.stream));
  fetch(total);
  for (int i = 0; i < total; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 0) % 10007;
  }

  CHECK(cudaFree(send));
  CHECK(cudaFree(recv));
  (void)odd, (void)last;
  return finish(job, good);
}
