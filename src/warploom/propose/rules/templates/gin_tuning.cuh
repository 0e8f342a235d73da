
// ---- launch shapes: what may be tuned ----------------------------------------------------------

[[maybe_unused]] constexpr int kThreads = 256;  // of a block that reduces or copies
constexpr size_t kOwnBytes = 65536;  // up to this, the kernel copies what a rank has for itself
constexpr int kLazyOrder = @LAZY@;  // 1: streams are ordered by events only where the stream changes

// How many blocks share a message: the adapter divides the work, not blocks.
inline int partsFor(size_t) { return 1; }
