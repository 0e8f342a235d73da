
// ---- device: peers' memory -------------------------------------------------------------------

// Where a block's mailbox is: places, of what this rank sends and receives. There are two, used in
// turn: a peer may still read the last kernel's.
__host__ __device__ constexpr size_t mailboxOf(int block, int turn) {
  return (2 * block + turn % 2) * kMaxBatch * sizeof(Place);
}

__device__ inline void* pointerAt(const Wire& wire, int rank, Place place) {
  return ncclGetLsaPointer(windowOf(wire, place), offsetOf(place), rank);
}

// This block's mailbox in the memory of `rank`.
__device__ inline Place* mailbox(const Wire& wire, int rank) {
  return static_cast<Place*>(pointerAt(wire, rank, mailboxOf(blockIdx.x, wire.turn)));
}

// What one crew does of an exchange: the peers first, first + step, ..., and of each message the part
// number `part` of `parts`.
struct Share {
  Crew crew;
  int first, step;
  unsigned part, parts;
};

// Divides the work as kSpread says: all threads take one peer after the other, or each warp or each
// block takes some of the peers.
__device__ inline Share shareOf(int ranks) {
  if (kSpread == kByWarps && blockDim.x >= 64) {
    unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32;
    unsigned step = smaller(warps, ranks), same = (warps - warp % step + step - 1) / step;
    Crew crew{warp / step * 32 + threadIdx.x % 32, same * 32};
    return Share{crew, static_cast<int>(warp % step), static_cast<int>(step), blockIdx.x, gridDim.x};
  }
  if (kSpread == kByBlocks) {
    unsigned step = smaller(gridDim.x, ranks), first = blockIdx.x % step;
    unsigned parts = (gridDim.x - first + step - 1) / step;
    return Share{wholeBlock(), static_cast<int>(first), static_cast<int>(step), blockIdx.x / step, parts};
  }
  return Share{wholeBlock(), 0, 1, blockIdx.x, gridDim.x};
}

// A crew's share of an exchange: reads what this rank receives, in whole 16-byte words but for the
// last.
__device__ inline void receiveShare(const Wire& wire, const Exchange& x, int number,
                                    const Share& share) {
  const int ranks = wire.dev.nRanks, me = wire.dev.rank;
  if (x.parts != nullptr) {
    for (int peer = threadIdx.x; blockIdx.x == 0 && peer < ranks; peer += blockDim.x) {
      Place from = mailbox(wire, peer)[number] + me * x.sendStride;
      x.parts[peer] = static_cast<const char*>(pointerAt(wire, peer, from));
    }
    return;
  }
  size_t part = roundUp((x.bytes + share.parts - 1) / share.parts, sizeof(uint4));
  size_t first = smaller(share.part * part, x.bytes);
  size_t bytes = smaller(part, x.bytes - first);
  for (int i = share.first; i < ranks; i += share.step) {
    int peer = (me + i) % ranks;  // so that not all ranks read from the same one
    if (peer == me ? !x.own : !includes(x.recvFrom, peer)) continue;
    Place from = mailbox(wire, peer)[number] + me * x.sendStride + first;
    Place to = x.recv + peer * x.recvStride + first;
    copyBytes(share.crew, static_cast<char*>(pointerAt(wire, me, to)),
              static_cast<const char*>(pointerAt(wire, peer, from)), bytes);
  }
}

// All-gathers, all-to-alls, broadcasts, gathers and scatters.
__global__ void exchangeKernel(Wire wire, Exchanges all) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), wire.dev, ncclTeamTagLsa(), blockIdx.x);
  int number = threadIdx.x;
  if (number < all.count) mailbox(wire, wire.dev.rank)[number] = all.item[number].send;
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  Share share = shareOf(wire.dev.nRanks);
  bool copies = false;
  for (int i = 0; i < all.count; ++i) {
    receiveShare(wire, all.item[i], i, share);
    copies = copies || all.item[i].parts == nullptr;
  }
  if (kLeaveTogether && copies) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
