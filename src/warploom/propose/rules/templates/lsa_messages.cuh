
constexpr int kMaxOffers = 4;  // places that a receiver offers at a time

// Sends and receives are between two ranks, so a barrier of all would wait for ever. The receiver
// offers places by writing them and a count into its box at the sender; the sender writes the data
// there and then a count into its own box at the receiver. `seen` counts what this rank has waited
// for; counts only grow, over all kernels.
struct Box {
  Place places[kMaxOffers];  // written by the peer that receives, one after the other
  uint64_t offered;          // by the same: how many places it has offered to this rank
  uint64_t arrived;          // by the peer that sends: how many messages it has written here
};

struct Seen {
  uint64_t offersGiven, offersTaken, dataSent, dataTaken;
};

using Flag = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

// The box of `writer` in the memory of `rank`, and this rank's own counts with `peer`, for one part.
__device__ inline Box* boxAt(const Wire& wire, int rank, int writer, int part) {
  Place boxes = mailboxOf(kMaxBlocks, 0);
  return static_cast<Box*>(pointerAt(wire, rank, boxes + (writer * kMaxParts + part) * sizeof(Box)));
}
__device__ inline Seen* seenWith(const Wire& wire, int peer, int part) {
  Place counts = mailboxOf(kMaxBlocks, 0) + wire.dev.nRanks * kMaxParts * sizeof(Box);
  Place place = counts + (peer * kMaxParts + part) * sizeof(Seen);
  return static_cast<Seen*>(pointerAt(wire, wire.dev.rank, place));
}

__device__ inline void waitFor(uint64_t& flag, uint64_t least) {
  while (Flag(flag).load(cuda::memory_order_acquire) < least) {
  }
}

// Offers the places of all messages, so that they travel one behind the other, then waits for the
// data. Data arrives in order: with it, the place that was offered for it has been read.
__device__ inline void receiveMessages(const Wire& wire, const Lane& lane, const Plan& plan) {
  if (threadIdx.x == 0) {
    Seen* seen = seenWith(wire, lane.peer, lane.part);
    Box* theirs = boxAt(wire, lane.peer, wire.dev.rank, lane.part);
    uint64_t& arrived = boxAt(wire, wire.dev.rank, lane.peer, lane.part)->arrived;
    for (int i = lane.first; i < lane.first + lane.count; ++i) {
      const Message message = plan.message(i);
      if (lane.part >= message.parts) continue;
      if (seen->offersGiven - seen->dataTaken == kMaxOffers) waitFor(arrived, ++seen->dataTaken);
      theirs->places[seen->offersGiven % kMaxOffers] = message.place;
      Flag(theirs->offered).store(++seen->offersGiven, cuda::memory_order_release);
    }
    seen->dataTaken = seen->offersGiven;
    waitFor(arrived, seen->dataTaken);
  }
  __syncthreads();
}

__device__ inline void sendMessage(const Wire& wire, const Lane& lane, const Message& message) {
  __shared__ Place to;
  Seen* seen = seenWith(wire, lane.peer, lane.part);
  if (threadIdx.x == 0) {
    Box* mine = boxAt(wire, wire.dev.rank, lane.peer, lane.part);
    const uint64_t number = seen->offersTaken++;
    waitFor(mine->offered, number + 1);
    to = mine->places[number % kMaxOffers];
  }
  __syncthreads();
  size_t part = roundUp((message.bytes + message.parts - 1) / message.parts, sizeof(uint4));
  size_t first = smaller(lane.part * part, message.bytes);
  copyBytes(wholeBlock(), static_cast<char*>(pointerAt(wire, lane.peer, to + first)),
            static_cast<const char*>(pointerAt(wire, wire.dev.rank, message.place + first)),
            smaller(part, message.bytes - first));
  __syncthreads();
  if (threadIdx.x == 0) {
    // The barrier has gathered the block's writes; the release makes them the peer's to see.
    Flag(boxAt(wire, lane.peer, wire.dev.rank, lane.part)->arrived)
        .store(++seen->dataSent, cuda::memory_order_release);
  }
}

// A group of sends and receives: one block for each lane, so that none waits behind another.
__global__ void messageKernel(Wire wire, Plan plan) {
  const Lane lane = plan.lane(blockIdx.x);
  if (lane.receives) {
    receiveMessages(wire, lane, plan);
  } else {
    for (int i = lane.first; i < lane.first + lane.count; ++i) {
      const Message message = plan.message(i);
      if (lane.part < message.parts) sendMessage(wire, lane, message);
    }
  }
}
