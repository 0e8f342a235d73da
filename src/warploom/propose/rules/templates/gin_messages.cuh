
// A group of sends and receives: one block for each lane, so that none waits behind another.
__global__ void messageKernel(Wire wire, const Lane* lanes, const Message* messages) {
  ncclGin gin(wire.dev, 0);
  Lane lane = lanes[blockIdx.x];
  if (threadIdx.x == 0) {
    for (int i = lane.first; i < lane.first + lane.count; ++i) {
      if (lane.receives) {
        offer(wire, gin, lane.peer, messages[i].place, 0, wire.turn);
        awaitData(wire, gin, lane.peer, 1);
      } else {
        awaitOffers(wire, gin, lane.peer, 1);
        Place to = offered(wire, lane.peer, 0);
        send(wire, gin, lane.peer, to, messages[i].place, messages[i].bytes);
      }
    }
  }
  __syncthreads();
  gin.flush(ncclCoopCta());
}
