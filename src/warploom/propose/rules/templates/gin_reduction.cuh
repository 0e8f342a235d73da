
// This block reduces `count` own elements: peers' parts lie in staging, one slot for each rank.
template <typename Element>
__device__ void reduceStaged(const Wire& wire, const Reduction& r, size_t offset, size_t count) {
  int me = wire.dev.rank;
  Place own = r.send + (firstOf(r, me) + offset) * sizeof(Element);
  Place out = r.recv + (resultOf(r, me) + offset) * sizeof(Element);
  auto result = static_cast<char*>(ncclGetLocalPointer(windowOf(wire, out), offsetOf(out)));
  auto mine = static_cast<const char*>(ncclGetLocalPointer(windowOf(wire, own), offsetOf(own)));
  auto staged = static_cast<const char*>(ncclGetLocalPointer(wire.windows[0], wire.staging));
  auto load = [&](int rank) { return rank == me ? mine : staged + rank * wire.slot; };
  auto store = [&](size_t i, auto word) { reinterpret_cast<decltype(word)*>(result)[i] = word; };
  auto lowBits = reinterpret_cast<uintptr_t>(result) | reinterpret_cast<uintptr_t>(mine) |
                 reinterpret_cast<uintptr_t>(staged) | wire.slot;
  bool wide = lowBits % sizeof(uint4) == 0;
  reduceAs<Element>(r.op, wire.dev.nRanks, threadIdx.x, count, blockDim.x, wide, load, store@SCALES_OF@);
}

__device__ inline void reduceOwn(const Wire& wire, const Reduction& r, size_t offset,
                                 size_t count) {
  switch (r.type) {
@REDUCE_CASES@
    default:
      break;  // the launcher has refused other types
  }
}

// All-reduce, reduce-scatter and reduce, in rounds of as much as a staging slot holds. One block;
// thread t deals with the messages to and from rank t, all threads reduce.
__global__ void reduceKernel(Wire wire, Reduction r) {
  ncclGin gin(wire.dev, 0);
  const int me = wire.dev.rank;
  const int peer = threadIdx.x;
  const bool hasPeer = peer < wire.dev.nRanks && peer != me;
  const size_t size = r.elementBytes;
  const size_t round = wire.slot / size;
  const size_t longest = r.owner == kEveryone ? smaller(r.slice, r.total) : r.total;
  for (size_t offset = 0; offset < longest; offset += round) {
    // How many elements I reduce in this round, and how many this thread's peer does.
    size_t mine = offset < countOf(r, me) ? smaller(round, countOf(r, me) - offset) : 0;
    size_t theirs = 0;
    if (hasPeer && offset < countOf(r, peer)) theirs = smaller(round, countOf(r, peer) - offset);

    if (hasPeer && mine) offer(wire, gin, peer, wire.staging + peer * wire.slot, 0, wire.turn);
    if (theirs) {
      awaitOffers(wire, gin, peer, 1);
      Place to = offered(wire, peer, 0);
@PUBLISH_SCALE@      send(wire, gin, peer, to, r.send + (firstOf(r, peer) + offset) * size, theirs * size);
    }
    if (hasPeer && mine) awaitData(wire, gin, peer, @ARRIVALS@);
    __syncthreads();
    // An in-place reduction writes over what was just sent.
    gin.flush(ncclCoopCta());
    reduceOwn(wire, r, offset, mine);
    __syncthreads();

    if (r.share) {
      if (theirs) offer(wire, gin, peer, r.recv + (resultOf(r, peer) + offset) * size, 0, wire.turn);
      if (hasPeer && mine) {
        awaitOffers(wire, gin, peer, 1);
        Place to = offered(wire, peer, 0);
        send(wire, gin, peer, to, r.recv + (resultOf(r, me) + offset) * size, mine * size);
      }
      if (theirs) awaitData(wire, gin, peer, 1);
      __syncthreads();
    }
  }
  gin.flush(ncclCoopCta());
}
