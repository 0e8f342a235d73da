
// Of a mailbox, where a peer's number lies in a reduction that scales: it offers one place only.
constexpr int kScaleBox = kMaxBatch - 1;

// Sender: tells `peer`, who has offered a place, what to multiply the data by.
__device__ inline void sendScale(const Wire& wire, const ncclGin& gin, int peer, uint64_t bits) {
  gin.putValue(ncclTeamWorld(wire.dev), peer, wire.windows[0],
               mailboxOf(wire.dev.rank, wire.turn) + kScaleBox * sizeof(Place), bits,
               Arrived{dataSignal(wire, wire.dev.rank)});
}
