
// ---- launch shapes: what may be tuned ----------------------------------------------------------

constexpr int kBlocks = 64;            // of a collective's kernel, at most; up to kMaxBlocks
constexpr size_t kBlockBytes = 16384;  // a block for each of so many bytes
constexpr int kThreads = 256;          // of each block
enum Spread { kInTurn, kByWarps, kByBlocks };
constexpr Spread kSpread = kByWarps;  // how an exchange's peers are divided
constexpr int kLeaveTogether = 1;      // 1: no rank ends an exchange before all have read
[[maybe_unused]] constexpr int kCloseTogether = 1;  // 1: windows are given back when all have read
constexpr size_t kOwnBytes = 65536;  // up to this, the kernel copies what a rank has for itself
constexpr int kLazyOrder = @LAZY@;  // 1: streams are ordered by events only where the stream changes

// How many blocks share `bytes`. All ranks must come to the same number.
inline unsigned blocksFor(size_t bytes) {
  size_t wanted = (bytes + kBlockBytes - 1) / kBlockBytes;
  return static_cast<unsigned>(wanted == 0 ? 1 : smaller(wanted, kBlocks));
}

[[maybe_unused]] constexpr int kParts = 16;  // of a message, at most: a block for each; to kMaxParts

// How many blocks share a message of `bytes`. Both sides agree on it.
inline int partsFor(size_t bytes) { return static_cast<int>(smaller(blocksFor(bytes), kParts)); }
