// One process drives all devices: ncclCommInitAll, and ncclCommInitRank in a group.
#include <nccl.h>

#include <vector>

#include "expect.h"

#define NCCL(call) EXPECT((call) == ncclSuccess)

__global__ void fill(int* p, int n, int value) {
  if (threadIdx.x < n) p[threadIdx.x] = value + threadIdx.x;
}

static void run(std::vector<ncclComm_t>& comms, int devices) {
  const int n = 8;
  std::vector<int*> send(devices), recv(devices);
  std::vector<cudaStream_t> streams(devices);
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaStreamCreate(&streams[d]));
    CUDA(cudaMalloc(&send[d], n * sizeof(int)));
    CUDA(cudaMalloc(&recv[d], devices * n * sizeof(int)));
    fill<<<1, 32, 0, streams[d]>>>(send[d], n, 100 * d);
  }
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) {
    NCCL(ncclAllGather(send[d], recv[d], n, ncclInt, comms[d], streams[d]));
  }
  NCCL(ncclGroupEnd());
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) {
    NCCL(ncclAllReduce(send[d], send[d], n, ncclInt, ncclSum, comms[d], streams[d]));
  }
  NCCL(ncclGroupEnd());
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaStreamSynchronize(streams[d]));
    std::vector<int> all(devices * n), sum(n);
    CUDA(cudaMemcpy(all.data(), recv[d], all.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(sum.data(), send[d], n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
      EXPECT(all[(devices - 1) * n + i] == 100 * (devices - 1) + i);
      EXPECT(sum[i] == 100 * devices * (devices - 1) / 2 + devices * i);
    }
    CUDA(cudaFree(send[d]));
    CUDA(cudaFree(recv[d]));
    CUDA(cudaStreamDestroy(streams[d]));
  }
}

int main() {
  int devices;
  CUDA(cudaGetDeviceCount(&devices));
  std::vector<ncclComm_t> comms(devices);
  NCCL(ncclCommInitAll(comms.data(), devices, nullptr));
  run(comms, devices);
  for (ncclComm_t comm : comms) NCCL(ncclCommDestroy(comm));

  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    NCCL(ncclCommInitRank(&comms[d], devices, id, d));
  }
  NCCL(ncclGroupEnd());
  run(comms, devices);

  // Windows are registered in a group, too.
  std::vector<void*> buffers(devices);
  std::vector<ncclWindow_t> windows(devices);
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) {
    CUDA(cudaSetDevice(d));
    NCCL(ncclMemAlloc(&buffers[d], 8192));
    NCCL(ncclCommWindowRegister(comms[d], buffers[d], 8192, &windows[d], NCCL_WIN_COLL_SYMMETRIC));
  }
  NCCL(ncclGroupEnd());
  for (int d = 0; d < devices; d++) {
    void* p = nullptr;
    EXPECT(windows[d] != nullptr);
    NCCL(ncclWinGetUserPtr(comms[d], windows[d], &p));
    EXPECT(p == buffers[d]);
  }
  NCCL(ncclGroupStart());
  for (int d = 0; d < devices; d++) NCCL(ncclCommWindowDeregister(comms[d], windows[d]));
  NCCL(ncclGroupEnd());
  for (int d = 0; d < devices; d++) {
    NCCL(ncclMemFree(buffers[d]));
    NCCL(ncclCommDestroy(comms[d]));
  }
  return failures != 0;
}
