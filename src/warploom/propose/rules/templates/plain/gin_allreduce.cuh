
// One block. Each rank reduces its share of the elements, which all send to its staging, and sends it
// to all. Thread t deals with the ranks t, t + blockDim.x, ...
template <typename Element>
__global__ void allReduceKernel(ncclDevComm comm, Place send, Place recv, Place staging, size_t count,
                                ncclRedOp_t op) {
  ncclGin gin(comm, 0);
  ncclTeam world = ncclTeamWorld(comm);
  const size_t share = (count + world.nRanks - 1) / world.nRanks, first = world.rank * share;
  auto sizeOf = [&](int rank) {  // in elements
    size_t begin = rank * share;
    return begin >= count ? 0 : (count - begin < share ? count - begin : share);
  };
  auto tell = [&](int peer, Place to, Place from, size_t elements, ncclGinSignal_t signal) {
    if (elements == 0) return gin.signal(world, peer, Told{signal});
    gin.put(world, peer, to.window, to.offset, from.window, from.offset, elements * sizeof(Element),
            Told{signal});
  };
  auto waitForAll = [&](ncclGinSignal_t signal) {
    if (threadIdx.x == 0) gin.increaseSignalShadow(signal, world.nRanks);
    gin.waitSignalMeetShadow(ncclCoopCta(), signal);
    __syncthreads();
  };
  auto after = [](Place place, size_t elements) {
    return Place{place.window, place.offset + elements * sizeof(Element)};
  };
  for (int p = threadIdx.x; p < world.nRanks; p += blockDim.x) tell(p, recv, recv, 0, kReady);
  waitForAll(kReady);
  for (int p = threadIdx.x; p < world.nRanks; p += blockDim.x) {
    tell(p, after(staging, first), after(send, p * share), sizeOf(p), kData);
  }
  waitForAll(kData);
  auto* staged = static_cast<const Element*>(ncclGetLocalPointer(staging.window, staging.offset));
  auto* out = static_cast<Element*>(ncclGetLocalPointer(recv.window, recv.offset)) + first;
  for (size_t i = threadIdx.x; i < sizeOf(world.rank); i += blockDim.x) {
    Element total = staged[i];
    for (int p = 1; p < world.nRanks; ++p) total = combine(op, total, staged[p * share + i]);
@AVERAGE@    out[i] = total;
  }
  __syncthreads();
  for (int p = threadIdx.x; p < world.nRanks; p += blockDim.x) {
    size_t elements = p == world.rank ? 0 : sizeOf(world.rank);  // its own are there
    tell(p, after(recv, first), after(recv, first), elements, kDone);
  }
  waitForAll(kDone);
  gin.flush(ncclCoopCta());  // what was sent may be written again
}
