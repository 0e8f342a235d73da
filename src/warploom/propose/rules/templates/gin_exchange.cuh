
// ---- device: messages ------------------------------------------------------------------------

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using Arrived = ncclGin_WeakSignalInc;  // settles the one put that it comes with
#else
using Arrived = ncclGin_SignalInc;
#endif

// Signals by the rank that raises them: "data has arrived", and "I offer a place", two of these, in
// turn: a place may be offered one kernel ahead.
__device__ inline ncclGinSignal_t dataSignal(const Wire&, int source) { return source; }
__device__ inline ncclGinSignal_t offerSignal(const Wire& wire, int source, int turn) {
  return (1 + turn % 2) * wire.dev.nRanks + source;
}

// The mailbox that `source` writes to: a place for each exchange of a kernel, for two kernels.
__host__ __device__ constexpr size_t mailboxOf(int source, int turn) {
  return (2 * source + turn % 2) * kMaxBatch * sizeof(Place);
}

// Receiver: tells `peer` where its next message goes. What is there may be overwritten from now on.
__device__ inline void offer(const Wire& wire, const ncclGin& gin, int peer, Place place,
                             int number, int turn) {
  gin.putValue(ncclTeamWorld(wire.dev), peer, wire.windows[0],
               mailboxOf(wire.dev.rank, turn) + number * sizeof(Place), place,
               Arrived{offerSignal(wire, wire.dev.rank, turn)});
}

// Sender: waits until `peer` has offered `count` more places.
__device__ inline void awaitOffers(const Wire& wire, const ncclGin& gin, int peer, int count) {
  gin.increaseSignalShadow(offerSignal(wire, peer, wire.turn), count);
  gin.waitSignalMeetShadow(ncclCoopThread(), offerSignal(wire, peer, wire.turn));
}

// The place that `peer` has offered, as number `number` of a kernel.
__device__ inline Place offered(const Wire& wire, int peer, int number) {
  size_t at = mailboxOf(peer, wire.turn);
  auto* box = static_cast<const Place*>(ncclGetLocalPointer(wire.windows[0], at));
  return box[number];
}

// Sender: puts `bytes` from `source` to the place that `peer` offered.
__device__ inline void send(const Wire& wire, const ncclGin& gin, int peer, Place to, Place source,
                            size_t bytes) {
  gin.put(ncclTeamWorld(wire.dev), peer, windowOf(wire, to), offsetOf(to), windowOf(wire, source),
          offsetOf(source), bytes, Arrived{dataSignal(wire, wire.dev.rank)});
}

// Receiver: waits until `count` more messages of `peer` lie at the places that were offered.
__device__ inline void awaitData(const Wire& wire, const ncclGin& gin, int peer, int count) {
  gin.increaseSignalShadow(dataSignal(wire, peer), count);
  gin.waitSignalMeetShadow(ncclCoopThread(), dataSignal(wire, peer));
}

// All-gathers, all-to-alls, broadcasts, gathers and scatters. One block; thread t deals with rank t.
__global__ void exchangeKernel(Wire wire, Exchanges all) {
  ncclGin gin(wire.dev, 0);
  const int me = wire.dev.rank, peer = threadIdx.x;
  const bool hasPeer = peer < wire.dev.nRanks && peer != me;
  int sends = 0, receives = 0;
  for (int i = 0; hasPeer && i < all.count; ++i) {
    const Exchange& x = all.item[i];
    sends += includes(x.sendTo, peer);
    if (!includes(x.recvFrom, peer)) continue;
    if (!all.offered) offer(wire, gin, peer, x.recv + peer * x.recvStride, i, wire.turn);
    ++receives;
  }
  if (sends) awaitOffers(wire, gin, peer, sends);
  for (int i = 0; sends && i < all.count; ++i) {
    const Exchange& x = all.item[i];
    if (!includes(x.sendTo, peer)) continue;
    send(wire, gin, peer, offered(wire, peer, i), x.send + peer * x.sendStride, x.bytes);
  }
  for (int i = 0; hasPeer && i < all.ahead; ++i) {
    Place place = all.next[i].recv + peer * all.next[i].recvStride;
    offer(wire, gin, peer, place, i, wire.turn + 1);
  }
  for (int i = 0; i < all.count; ++i) {
    const Exchange& x = all.item[i];
    if (!x.own) continue;
    Place from = x.send + me * x.sendStride, to = x.recv + me * x.recvStride;
    copyBytes(wholeBlock(), static_cast<char*>(ncclGetLocalPointer(windowOf(wire, to), offsetOf(to))),
              static_cast<const char*>(ncclGetLocalPointer(windowOf(wire, from), offsetOf(from))),
              x.bytes);
  }
  if (receives) awaitData(wire, gin, peer, receives);
  __syncthreads();
  gin.flush(ncclCoopCta());
}
