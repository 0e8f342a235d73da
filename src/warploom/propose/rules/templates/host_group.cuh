
inline ncclResult_t launchKept(Session&) {
@LAUNCH_KEPT@}

// In place of ncclGroupStart and ncclGroupEnd. Reductions inside are launched where they stand, all
// else at the end: the exchanges of a communicator as one kernel, then its messages as one.
inline ncclResult_t groupStart() {
  ++calls().depth;
  return ncclSuccess;
}
inline ncclResult_t groupEnd() {
  Calls& c = calls();
  if (c.depth == 0) return fail(ncclInvalidUsage, "groupEnd", "no group is open");
  if (--c.depth > 0) return ncclSuccess;
  ncclResult_t status = c.native ? ncclGroupEnd() : ncclSuccess;
  c.native = false;
  c.made = 0;
  Sessions all;
  all.swap(c.all);
  DEVICE_COMM_NCCL(forEach(all, launchKept));
  return status;
}
