constexpr int kBlocks = 64;            // of a kernel, at most
constexpr size_t kBlockBytes = 16384;  // a block for each of so many bytes
constexpr int kThreads = 256;          // of each block
using Barrier = ncclLsaBarrierSession<ncclCoopCta>;

// How many blocks share `bytes`: the same number on every rank.
inline unsigned blocksFor(size_t bytes) {
  const size_t wanted = (bytes + kBlockBytes - 1) / kBlockBytes;
  return static_cast<unsigned>(wanted < kBlocks ? wanted : kBlocks);
}
