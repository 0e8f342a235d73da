
inline Batch& batch() { return session().batch; }

@EXPECT@
inline ncclResult_t launchBatch() {
  Session& s = session();
  Batch& b = batch();
  Exchanges work = b.work;
  b.work.count = 0;
  if (work.count == 0) return ncclSuccess;
@LOOK_AHEAD@@ON_DEVICE@  DEVICE_COMM_NCCL(follow(b.stream));
  DEVICE_COMM_NCCL(launchExchangeKernel(s.wire, work, s.ranks, b.stream));
  return end(b.stream);
}

// Launches an exchange, or keeps it for the end of its group.
inline ncclResult_t enqueue(const Exchange& x, cudaStream_t stream) {
  Batch& b = batch();
  if (b.work.count == kMaxBatch || b.stream != stream) DEVICE_COMM_NCCL(launchBatch());
  b.stream = stream;
  b.work.item[b.work.count++] = x;
  return calls().depth > 0 ? ncclSuccess : launchBatch();
}

// What all exchanges share. `own` is what this rank has for itself, `ownTo` where it belongs; null
// where it has nothing to keep.
inline ncclResult_t exchange(Exchange x, const void* own, void* ownTo, cudaStream_t stream) {
  bool bothHere = x.sendTo == kEveryone && x.recvFrom == kEveryone && session().ranks > 1;
  x.own = bothHere && x.bytes <= kOwnBytes && own != ownTo;
  if (own != nullptr && !x.own) DEVICE_COMM_NCCL(copyOwn(own, ownTo, x.bytes, stream));
  return session().ranks == 1 ? ncclSuccess : enqueue(x, stream);
}
