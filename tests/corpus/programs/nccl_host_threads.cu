// CORPUS run=2,4
// A thread per device with std::thread: each makes its own communicator from one unique id, and
// the threads meet at a barrier of their own before results are compared.
//
// DEFECT ORDER collective_mismatch: odd threads call the two collectives in the other order
// DEFECT DTYPE collective_mismatch: the last thread counts bytes as another type
// DEFECT NO_JOIN_ORDER deadlock: a thread leaves before the last collective
#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

class Worker {
 public:
  Worker(int rank, int size, ncclUniqueId id) : rank_(rank), size_(size), id_(id) {}

  void operator()(std::vector<int>& out) {
    cuda(cudaSetDevice(rank_));
    ncclComm_t comm;
    nccl(ncclCommInitRank(&comm, size_, id_, rank_));
    cudaStream_t stream;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *mine, *sums, *all;
    cuda(cudaMallocAsync(&mine, kCount * sizeof(int), stream));
    cuda(cudaMallocAsync(&sums, kCount * sizeof(int), stream));
    cuda(cudaMallocAsync(&all, size_ * kCount * sizeof(int), stream));
    std::vector<int> values(kCount);
    for (int i = 0; i < kCount; ++i) values[i] = (rank_ + 1) * (i + 3);
    cuda(cudaMemcpyAsync(mine, values.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, stream));
    collectives(comm, mine, sums, all, stream);
    out.resize((size_ + 1) * kCount);
    cuda(cudaMemcpyAsync(out.data(), sums, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
    cuda(cudaMemcpyAsync(out.data() + kCount, all, size_ * kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
    cuda(cudaFreeAsync(mine, stream));
    cuda(cudaFreeAsync(sums, stream));
    cuda(cudaFreeAsync(all, stream));
    cuda(cudaStreamSynchronize(stream));
    cuda(cudaStreamDestroy(stream));
    nccl(ncclCommFinalize(comm));
    nccl(ncclCommDestroy(comm));
  }

  static constexpr int kCount = 40;

 private:
  void collectives(ncclComm_t comm, int* mine, int* sums, int* all, cudaStream_t stream) {
#if defined(DEFECT_ORDER)
    if (rank_ % 2) {
      // EXPECT ORDER
      nccl(ncclAllGather(mine, all, kCount, ncclInt32, comm, stream));
      // EXPECT ORDER
      nccl(ncclAllReduce(mine, sums, kCount, ncclInt32, ncclSum, comm, stream));
      return;
    }
#endif
#if defined(DEFECT_DTYPE)
    if (rank_ == size_ - 1) {
      // EXPECT DTYPE
      nccl(ncclAllReduce(mine, sums, kCount * sizeof(int), ncclInt8, ncclSum, comm, stream));
    } else
#endif
    // EXPECT ORDER DTYPE
    nccl(ncclAllReduce(mine, sums, kCount, ncclInt32, ncclSum, comm, stream));
#if defined(DEFECT_NO_JOIN_ORDER)
    if (rank_ == 0) return;
#endif
    // EXPECT ORDER NO_JOIN_ORDER
    nccl(ncclAllGather(mine, all, kCount, ncclInt32, comm, stream));
  }
  static void cuda(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
  }
  static void nccl(ncclResult_t r) {
    if (r != ncclSuccess) throw std::runtime_error(ncclGetErrorString(r));
  }
  int rank_, size_;
  ncclUniqueId id_;
};

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) return 3;
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return 3;
  std::vector<std::vector<int>> results(devices);
  std::vector<std::thread> threads;
  for (int d = 0; d < devices; ++d) threads.emplace_back(Worker(d, devices, id), std::ref(results[d]));
  for (std::thread& t : threads) t.join();
  int wrong = 0;
  const int n = Worker::kCount;
  for (const auto& r : results) {
    for (int i = 0; i < n; ++i) {
      wrong += r[i] != devices * (devices + 1) / 2 * (i + 3);
      for (int d = 0; d < devices; ++d) wrong += r[n + d * n + i] != (d + 1) * (i + 3);
    }
  }
  std::printf("%d devices, %d wrong values\n", devices, wrong);
  return wrong ? 1 : 0;
}
