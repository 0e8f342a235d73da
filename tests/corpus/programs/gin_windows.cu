// CORPUS run=2,4
// Registers its windows by hand: each rank puts its block to the next rank.
//
// DEFECT NOT_REGISTERED window_null: the receive buffer never became a window
// DEFECT CUDA_MALLOC window_memory: a window needs memory from ncclMemAlloc or the VMM
// DEFECT MISALIGNED window_alignment: a window starts at a multiple of 4096 bytes
// DEFECT ORDER window_order_mismatch: odd ranks register their buffers in another order
// DEFECT TOO_LONG window_range: puts more bytes than the receive window holds
// DEFECT DEREGISTER_EARLY window_deregistered: the window goes while the kernel may still use it
// DEFECT FREE_EARLY window_use_after_free: the memory goes while the window is registered
// DEFECT FREE_FIRST window_use_after_free: memory is freed before its window is deregistered
#include "harness.h"

#include <nccl_device.h>

constexpr int kInts = 1024, kThreads = 32;

__global__ void fill(int* send, int rank, int next) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) send[i] = value(rank, next, i, 0);
}

__global__ void pass_on(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, int* out) {
  ncclGin gin(dev, 0);
  ncclTeam world = ncclTeamWorld(dev);
  int next = (world.rank + 1) % world.nRanks;
#if defined(DEFECT_TOO_LONG)
  size_t bytes = 2 * kInts * sizeof(int) + 4;
#else
  size_t bytes = kInts * sizeof(int);
#endif
  if (threadIdx.x == 0) {
    // EXPECT NOT_REGISTERED TOO_LONG DEREGISTER_EARLY FREE_EARLY
    gin.put(world, next, recv, 0, send, 0, bytes, ncclGin_WeakSignalInc{0});
  }
  gin.waitSignal(ncclCoopCta(), 0, 1);
  const int* in = static_cast<const int*>(ncclGetLocalPointer(recv, 0));
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) out[i] = in[i];
  gin.flush(ncclCoopCta());
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const size_t send_bytes = kInts * sizeof(int), recv_bytes = 2 * send_bytes;
  void *send = nullptr, *recv = nullptr;
  int* out;
#if defined(DEFECT_CUDA_MALLOC)
  CHECK(cudaMalloc(&send, 2 * send_bytes));
#else
  CHECK(ncclMemAlloc(&send, 2 * send_bytes));
#endif
  CHECK(ncclMemAlloc(&recv, recv_bytes));
  CHECK(cudaMalloc(&out, send_bytes));

  ncclWindow_t send_window = nullptr, recv_window = nullptr;
  char* first = static_cast<char*>(send);
#if defined(DEFECT_MISALIGNED)
  first += 256;
#endif
#if defined(DEFECT_ORDER)
  if (job.rank % 2 == 1) {
    // EXPECT ORDER
    CHECK(
        ncclCommWindowRegister(job.comm, recv, recv_bytes, &recv_window, NCCL_WIN_COLL_SYMMETRIC));
  }
#endif
  // EXPECT CUDA_MALLOC MISALIGNED ORDER
  CHECK(ncclCommWindowRegister(job.comm, first, send_bytes, &send_window, NCCL_WIN_COLL_SYMMETRIC));
#if defined(DEFECT_ORDER)
  if (job.rank % 2 == 0)
#endif
#if !defined(DEFECT_NOT_REGISTERED)
    // EXPECT ORDER
    CHECK(
        ncclCommWindowRegister(job.comm, recv, recv_bytes, &recv_window, NCCL_WIN_COLL_SYMMETRIC));
#endif

  ncclDevCommRequirements reqs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  reqs.ginSignalCount = 1;
  reqs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &reqs, &dev));

  int* staged = reinterpret_cast<int*>(first);
  fill<<<1, kThreads, 0, job.stream>>>(staged, job.rank, (job.rank + 1) % job.ranks);
  pass_on<<<1, kThreads, 0, job.stream>>>(dev, send_window, recv_window, out);
  CHECK(cudaGetLastError());
#if defined(DEFECT_DEREGISTER_EARLY)
  // EXPECT DEREGISTER_EARLY
  CHECK(ncclCommWindowDeregister(job.comm, send_window));
#elif defined(DEFECT_FREE_EARLY)
  // EXPECT FREE_EARLY
  CHECK(ncclMemFree(send));
#endif
  std::vector<int> got(kInts);
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(cudaMemcpy(got.data(), out, send_bytes, cudaMemcpyDeviceToHost));
  bool good = true;
  int previous = (job.rank + job.ranks - 1) % job.ranks;
  for (int i = 0; i < kInts; ++i) good = good && got[i] == value(previous, job.rank, i, 0);

  CHECK(ncclDevCommDestroy(job.comm, &dev));
  CHECK(cudaFree(out));
#if defined(DEFECT_FREE_FIRST)
  // EXPECT FREE_FIRST
  CHECK(ncclMemFree(recv));
  CHECK(ncclCommWindowDeregister(job.comm, recv_window));
#else
  CHECK(ncclCommWindowDeregister(job.comm, recv_window));
  CHECK(ncclMemFree(recv));
#endif
#if !defined(DEFECT_DEREGISTER_EARLY)
  CHECK(ncclCommWindowDeregister(job.comm, send_window));
#endif
#if !defined(DEFECT_FREE_EARLY) && !defined(DEFECT_CUDA_MALLOC)
  CHECK(ncclMemFree(send));
#endif
  return finish(job, good);
}
