
// ---- device: messages ------------------------------------------------------------------------

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Arrived = ncclGin_WeakSignalInc;  // settles the one put that it comes with
#else
using Arrived = ncclGin_SignalInc;
#endif

// Signals by the rank that raises them: below nRanks "I offer a place", above "data has arrived".
__device__ inline ncclGinSignal_t offerSignal(const Wire&, int source) { return source; }
__device__ inline ncclGinSignal_t dataSignal(const Wire& wire, int source) {
  return wire.dev.nRanks + source;
}

// Receiver: tells `peer` where its next message goes. What is there may be overwritten from now on.
__device__ inline void offer(const Wire& wire, const ncclGin& gin, int peer, Place place) {
  gin.putValue(ncclTeamWorld(wire.dev), peer, wire.windows[0], wire.dev.rank * sizeof(Place), place,
               Arrived{offerSignal(wire, wire.dev.rank)});
}

// Sender: waits until `peer` has offered a place, and returns it.
__device__ inline Place awaitOffer(const Wire& wire, const ncclGin& gin, int peer) {
  gin.increaseSignalShadow(offerSignal(wire, peer), 1);
  gin.waitSignalMeetShadow(ncclCoopThread(), offerSignal(wire, peer));
  return *static_cast<const Place*>(ncclGetLocalPointer(wire.windows[0], peer * sizeof(Place)));
}

// Sender: puts `bytes` from `source` to the place that `peer` offered.
__device__ inline void send(const Wire& wire, const ncclGin& gin, int peer, Place to, Place source,
                            size_t bytes) {
  gin.put(ncclTeamWorld(wire.dev), peer, windowOf(wire, to), offsetOf(to), windowOf(wire, source),
          offsetOf(source), bytes, Arrived{dataSignal(wire, wire.dev.rank)});
}

// Receiver: waits until the message of `peer` lies at the place that was offered.
__device__ inline void awaitData(const Wire& wire, const ncclGin& gin, int peer) {
  gin.increaseSignalShadow(dataSignal(wire, peer), 1);
  gin.waitSignalMeetShadow(ncclCoopThread(), dataSignal(wire, peer));
}

// All-gather, all-to-all, broadcast, gather and scatter. One block; thread t deals with rank t.
__global__ void exchangeKernel(Wire wire, Exchange x) {
  ncclGin gin(wire.dev, 0);
  int peer = threadIdx.x;
  if (peer < wire.dev.nRanks && peer != wire.dev.rank) {
    bool sends = includes(x.sendTo, peer);
    bool receives = includes(x.recvFrom, peer);
    if (receives) offer(wire, gin, peer, x.recv + peer * x.recvStride);
    if (sends) {
      Place to = awaitOffer(wire, gin, peer);
      send(wire, gin, peer, to, x.send + peer * x.sendStride, x.bytes);
    }
    if (receives) awaitData(wire, gin, peer);
  }
  __syncthreads();
  gin.flush(ncclCoopCta());
}
