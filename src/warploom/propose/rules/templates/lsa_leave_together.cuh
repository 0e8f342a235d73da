
// A last meeting of the ranks, of which one thread drives several.
inline ncclResult_t leave(Session& s) {
  s.left = true;
  return s.open ? launchExchangeKernel(s.wire, Exchanges{}, s.ranks, 0) : ncclSuccess;
}
inline ncclResult_t haveLeft(Session&) {
  DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
  return ncclSuccess;
}
inline ncclResult_t leaveTogether(Session& s) {
  if (s.left) return ncclSuccess;
  if (s.open && kCloseTogether && !kLeaveTogether) {  // a last meeting: nobody reads from here any more
    DEVICE_COMM_NCCL(forEach(madeWith(s), leave));
    DEVICE_COMM_NCCL(forEach(madeWith(s), haveLeft));
  }
  return ncclSuccess;
}
