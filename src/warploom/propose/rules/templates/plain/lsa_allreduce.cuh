
// Elements that move as one word.
template <typename Element, int kCount>
struct alignas(kCount * sizeof(Element)) Pack {
  Element item[kCount];
};

// Reduces this rank's share of `count` words over all ranks, in their order, and writes it to all.
template <typename Element, int kCount>
__device__ void reduceWords(const ncclDevComm& comm, Place send, Place recv, size_t count,
                            ncclRedOp_t op) {
  using Word = Pack<Element, kCount>;
  auto at = [](Place place, int peer) {
    return static_cast<Word*>(ncclGetLsaPointer(place.window, place.offset, peer));
  };
  const size_t share = (count + comm.nRanks - 1) / comm.nRanks, first = comm.rank * share;
  const size_t end = first + share < count ? first + share : count;
  size_t i = first + size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < end; i += size_t(gridDim.x) * blockDim.x) {
    Word total = at(send, 0)[i];
    for (int peer = 1; peer < comm.nRanks; ++peer) {
      Word word = at(send, peer)[i];
      for (int k = 0; k < kCount; ++k) total.item[k] = combine(op, total.item[k], word.item[k]);
    }
@AVERAGE@    for (int peer = 0; peer < comm.nRanks; ++peer) at(recv, peer)[i] = total;
  }
}

template <typename Element>
__global__ void allReduceKernel(ncclDevComm comm, Place send, Place recv, size_t count,
                                ncclRedOp_t op) {
  Barrier barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  constexpr int kWide = sizeof(uint4) / sizeof(Element);
  size_t wide = (send.offset | recv.offset) % sizeof(uint4) == 0 ? count / kWide : 0;
  reduceWords<Element, kWide>(comm, send, recv, wide, op);
  send.offset += wide * sizeof(uint4);
  recv.offset += wide * sizeof(uint4);
  reduceWords<Element, 1>(comm, send, recv, count - wide * kWide, op);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
