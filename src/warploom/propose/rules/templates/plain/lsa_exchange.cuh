
// Reads `bytes` of each peer, `stride` per rank behind its `send`, to `recv`. Four words are on their
// way at a time: a load from a peer takes about a microsecond.
template <typename Word>
__device__ void readPeers(const ncclDevComm& comm, Place send, Place recv, size_t bytes, size_t stride) {
  const size_t words = bytes / sizeof(Word), all = words * comm.nRanks;
  const size_t step = size_t(gridDim.x) * blockDim.x, from = send.offset + comm.rank * stride;
  auto* out = static_cast<Word*>(ncclGetLocalPointer(recv.window, recv.offset));
  auto peer = [&](size_t i) { return int((comm.rank + i / words) % comm.nRanks); };  // own first
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += 4 * step) {
    Word word[4];
    for (size_t k = 0, j = i; k < 4 && j < all; ++k, j += step) {
      word[k] = static_cast<const Word*>(ncclGetLsaPointer(send.window, from, peer(j)))[j % words];
    }
    for (size_t k = 0, j = i; k < 4 && j < all; ++k, j += step) out[peer(j) * words + j % words] = word[k];
  }
}

// Every rank has `bytes` for each peer, `stride` apart from each other.
__global__ void exchangeKernel(ncclDevComm comm, Place send, Place recv, size_t bytes, size_t stride) {
  Barrier barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  if ((bytes | send.offset | recv.offset) % sizeof(uint4) == 0) {
    readPeers<uint4>(comm, send, recv, bytes, stride);
  } else {
    readPeers<@UNIT@>(comm, send, recv, bytes, stride);
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}
