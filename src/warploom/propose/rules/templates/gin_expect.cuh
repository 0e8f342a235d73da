
// Has the next kernel offer where the exchange after it receives, so that nobody waits for that
// then: the memory must be free from now on, and ranks must exchange what they have said here, in
// this order. For all-gathers and all-to-alls.
inline ncclResult_t expect(void* recv, size_t count, ncclDataType_t type) {
  DEVICE_COMM_NCCL(openSessions(madeWith(session())));
  Batch& b = batch();
  size_t bytes = count * bytesOf(type);
  if (session().ranks == 1 || bytes == 0) return ncclSuccess;
  if (b.expected == kMaxBatch) return fail(ncclInvalidUsage, "expect", "more than kMaxBatch");
  Exchange x{0, 0, 0, bytes, bytes, kEveryone, kEveryone};
  DEVICE_COMM_NCCL(locate(recv, session().ranks * bytes, "an expected receive buffer", &x.recv));
  b.next[b.expected++] = x;
  return ncclSuccess;
}

// Completes a kernel's work: what the one before has offered for it, and what it shall offer.
inline ncclResult_t lookAhead(Exchanges& work) {
  Batch& b = batch();
  work.offered = b.due > 0;
  bool same = b.due == 0 || b.due == work.count;
  for (int i = 0; same && i < b.due; ++i) same = work.item[i].recv == b.dueAt[i];
  if (!same) return fail(ncclInvalidUsage, "expect", "another exchange has come");
  work.ahead = b.due = b.expected;
  b.expected = 0;
  for (int i = 0; i < work.ahead; ++i) {
    work.next[i] = b.next[i];
    b.dueAt[i] = b.next[i].recv;
  }
  return ncclSuccess;
}
