
// Every rank has `bytes` for each peer, `stride` apart from each other. One block: its thread t
// deals with the ranks t, t + blockDim.x, ...
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
