
// ---- device: peers' memory -------------------------------------------------------------------

// Where a block's mailbox is: two places, what this rank sends from and receives to.
__host__ __device__ inline Place mailboxOf(int block) { return 2 * block * sizeof(Place); }

__device__ inline void* pointerAt(const Wire& wire, int rank, Place place) {
  return ncclGetLsaPointer(windowOf(wire, place), offsetOf(place), rank);
}

// This block's mailbox in the memory of `rank`.
__device__ inline Place* mailbox(const Wire& wire, int rank) {
  return static_cast<Place*>(pointerAt(wire, rank, mailboxOf(blockIdx.x)));
}

// All threads of the block copy, in the widest words that both sides allow.
__device__ inline void copyBytes(char* to, const char* from, size_t bytes) {
  size_t done = 0;
  auto lowBits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (lowBits % sizeof(uint4) == 0) {
    size_t words = bytes / sizeof(uint4);
    for (size_t i = threadIdx.x; i < words; i += blockDim.x) {
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
    done = words * sizeof(uint4);
  } else if (lowBits % sizeof(uint32_t) == 0) {
    size_t words = bytes / sizeof(uint32_t);
    for (size_t i = threadIdx.x; i < words; i += blockDim.x) {
      reinterpret_cast<uint32_t*>(to)[i] = reinterpret_cast<const uint32_t*>(from)[i];
    }
    done = words * sizeof(uint32_t);
  }
  for (size_t i = done + threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
}

// All-gather, all-to-all, broadcast, gather and scatter: each rank reads what it receives.
__global__ void exchangeKernel(Wire wire, Exchange x) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), wire.dev, ncclTeamTagLsa(), blockIdx.x);
  const int ranks = wire.dev.nRanks, me = wire.dev.rank;
  if (threadIdx.x == 0) mailbox(wire, me)[0] = x.send;
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);

  // This block's part of each message, in whole 16-byte words but for the last.
  size_t part = roundUp((x.bytes + gridDim.x - 1) / gridDim.x, sizeof(uint4));
  size_t first = smaller(blockIdx.x * part, x.bytes);
  size_t bytes = smaller(part, x.bytes - first);
  for (int i = 1; i < ranks; ++i) {
    int peer = (me + i) % ranks;  // so that not all ranks read from the same one
    if (!includes(x.recvFrom, peer)) continue;
    Place from = mailbox(wire, peer)[0] + me * x.sendStride + first;
    Place to = x.recv + peer * x.recvStride + first;
    copyBytes(static_cast<char*>(pointerAt(wire, me, to)),
              static_cast<const char*>(pointerAt(wire, peer, from)), bytes);
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
