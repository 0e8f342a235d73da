
// This block reduces its part of this rank's elements, straight from the peers' memory. `from` and
// `to` say where each rank's buffers are.
template <typename Element>
__device__ void reducePeers(const Wire& wire, const Reduction& r, char* const* from,
                            char* const* to@BITS_PARAMETER@) {
  const int ranks = wire.dev.nRanks, me = wire.dev.rank;
  const size_t input = firstOf(r, me) * sizeof(Element), output = resultOf(r, me) * sizeof(Element);
  auto load = [&](int rank) { return from[rank] + input; };
  // With `share`, word i goes to every rank: nobody else reads or writes it.
  auto store = [&](size_t i, auto word) {
    for (int k = 0; k < (r.share ? ranks : 1); ++k) {
      reinterpret_cast<decltype(word)*>(to[(me + k) % ranks] + output)[i] = word;
    }
  };
  uintptr_t lowBits = input | output;
  for (int rank = 0; rank < ranks; ++rank) {
    lowBits |= reinterpret_cast<uintptr_t>(from[rank]) | reinterpret_cast<uintptr_t>(to[rank]);
  }
  size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x, step = size_t(gridDim.x) * blockDim.x;
  bool wide = lowBits % sizeof(uint4) == 0;
  reduceAs<Element>(r.op, ranks, first, countOf(r, me), step, wide, load, store@SCALES_OF@);
}

// All-reduce, reduce-scatter and reduce.
__global__ void reduceKernel(Wire wire, Reduction r) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), wire.dev, ncclTeamTagLsa(), blockIdx.x);
  if (threadIdx.x == 0) {
    mailbox(wire, wire.dev.rank)[0] = r.send;
    mailbox(wire, wire.dev.rank)[1] = r.recv;
@PUBLISH_SCALE@  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);

  extern __shared__ char* pointers[];  // [ranks] to send buffers, [ranks] to receive buffers
@SHARED_SCALES@  char **from = pointers, **to = pointers + wire.dev.nRanks;
  for (int rank = threadIdx.x; rank < wire.dev.nRanks; rank += blockDim.x) {
    from[rank] = static_cast<char*>(pointerAt(wire, rank, mailbox(wire, rank)[0]));
    bool written = r.share || rank == wire.dev.rank;
    to[rank] = written ? static_cast<char*>(pointerAt(wire, rank, mailbox(wire, rank)[1])) : nullptr;
@FETCH_SCALE@  }
  __syncthreads();
  switch (r.type) {
@REDUCE_CASES@
    default:
      break;  // the launcher has refused other types
  }
  if (kLeaveTogether || r.share) barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
