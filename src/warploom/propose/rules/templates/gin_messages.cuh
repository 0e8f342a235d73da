
constexpr int kMaxOffers = 4;  // places that a receiver offers at a time

// What this rank and one peer know of each other's messages; counts only grow, over all kernels.
struct Box {
  Place places[kMaxOffers];  // written by the peer, one after the other: where it receives
  uint64_t given, taken;     // this rank's own: how many places it has offered, and sent to
};

__host__ __device__ constexpr size_t boxOf(int ranks, int peer) {
  return mailboxOf(ranks, 0) + peer * sizeof(Box);
}
__device__ inline Box* boxWith(const Wire& wire, int peer) {
  return static_cast<Box*>(ncclGetLocalPointer(wire.windows[0], boxOf(wire.dev.nRanks, peer)));
}

// Receiver: tells `peer` where the message behind those that were offered before goes.
template <typename Signal>
__device__ inline void offerNext(const Wire& wire, const ncclGin& gin, int peer, Place place) {
  uint64_t number = boxWith(wire, peer)->given++ % kMaxOffers;
  gin.putValue(ncclTeamWorld(wire.dev), peer, wire.windows[0],
               boxOf(wire.dev.nRanks, wire.dev.rank) + number * sizeof(Place), place,
               Signal{offerSignal(wire, wire.dev.rank, wire.turn)});
}

// Offers the places of all messages, so that they travel one behind the other, then waits for the
// data. Signals behind the first one settle all offers before them, so that the sender may take
// places in order; when so many messages have come, it has taken so many places.
__device__ inline void receiveMessages(const Wire& wire, const ncclGin& gin, const Lane& lane,
                                       const Plan& plan) {
  for (int i = 0; i < lane.count; ++i) {
    if (i >= kMaxOffers) awaitData(wire, gin, lane.peer, 1);
    Place place = plan.message(lane.first + i).place;
    if (i == 0) {
      offerNext<Arrived>(wire, gin, lane.peer, place);
    } else {
      offerNext<ncclGin_SignalInc>(wire, gin, lane.peer, place);
    }
  }
  awaitData(wire, gin, lane.peer, static_cast<int>(smaller(lane.count, kMaxOffers)));
}

__device__ inline void sendMessages(const Wire& wire, const ncclGin& gin, const Lane& lane,
                                    const Plan& plan) {
  Box* box = boxWith(wire, lane.peer);
  for (int i = lane.first; i < lane.first + lane.count; ++i) {
    awaitOffers(wire, gin, lane.peer, 1);
    Place to = box->places[box->taken++ % kMaxOffers];
    const Message message = plan.message(i);
    send(wire, gin, lane.peer, to, message.place, message.bytes);
  }
}

// A group of sends and receives: one block for each lane, so that none waits behind another.
__global__ void messageKernel(Wire wire, Plan plan) {
  ncclGin gin(wire.dev, 0);
  const Lane lane = plan.lane(blockIdx.x);
  if (threadIdx.x == 0) {
    if (lane.receives) {
      receiveMessages(wire, gin, lane, plan);
    } else {
      sendMessages(wire, gin, lane, plan);
    }
  }
  __syncthreads();
  gin.flush(ncclCoopCta());
}
