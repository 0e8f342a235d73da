// The exchanges of the group that is open: one kernel does them all. Without a group, each has its
// own kernel.
struct Batch {
  Exchanges work{};
  cudaStream_t stream = nullptr;
@EXPECTED@};

