constexpr ncclGinSignal_t kReady = 0, kData = 1;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Told = ncclGin_WeakSignalInc;  // settles the one put that it comes with
#else
using Told = ncclGin_SignalInc;
#endif

// One block: its thread t deals with the ranks t, t + blockDim.x, ...
__global__ void exchangeKernel(ncclDevComm comm, Place send, Place recv, size_t bytes, size_t stride) {
  ncclGin gin(comm, 0);
  ncclTeam world = ncclTeamWorld(comm);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.signal(world, peer, Told{kReady});
  }
  if (threadIdx.x == 0) gin.increaseSignalShadow(kReady, world.nRanks);
  gin.waitSignalMeetShadow(ncclCoopCta(), kReady);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    gin.put(world, peer, recv.window, recv.offset + world.rank * bytes, send.window,
            send.offset + peer * stride, bytes, Told{kData});
  }
  if (threadIdx.x == 0) gin.increaseSignalShadow(kData, world.nRanks);
  gin.waitSignalMeetShadow(ncclCoopCta(), kData);
  gin.flush(ncclCoopCta());  // what was sent may be written again
}

// Every rank has `bytes` for each peer, `stride` apart from each other.
inline ncclResult_t exchange(Place send, Place recv, size_t bytes, size_t stride,
                             cudaStream_t stream) {
  exchangeKernel<<<1, 32, 0, stream>>>(dev, send, recv, bytes, stride);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
