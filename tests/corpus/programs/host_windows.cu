// CORPUS run=2,4
// Half way to the device: buffers from ncclMemAlloc in windows and a device communicator, while
// host collectives still move the data.
//
// DEFECT COMM_FIRST use_after_destroy: the communicator goes before what was made from it
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 128;

__global__ void fill(int* send, int rank, int ranks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < ranks * kInts) send[i] = value(rank, i / kInts, i % kInts, 0);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  Buffer<int> send = allocate<int>(job, job.ranks * kInts);
  Buffer<int> recv = allocate<int>(job, job.ranks * kInts);
  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.lsaBarrierCount = 2;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  fill<<<job.ranks, kInts, 0, job.stream>>>(send.data, job.rank, job.ranks);
  CHECK(cudaGetLastError());
  CHECK(ncclAlltoAll(send.data, recv.data, kInts, ncclInt32, job.comm, job.stream));
  CHECK(cudaStreamSynchronize(job.stream));
  std::vector<int> got(job.ranks * kInts);
  CHECK(cudaMemcpy(got.data(), recv.data, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  bool good = true;
  for (int i = 0; i < job.ranks * kInts; ++i) {
    good = good && got[i] == value(i / kInts, job.rank, i % kInts, 0);
  }

#if defined(DEFECT_COMM_FIRST)
  CHECK(ncclCommDestroy(job.comm));
  // EXPECT COMM_FIRST
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  job.comm = nullptr;
  CHECK(ncclMemFree(recv.data));
  CHECK(ncclMemFree(send.data));
#else
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  release(job, recv);
  release(job, send);
#endif
  return finish(job, good);
}
