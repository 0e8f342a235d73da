
// The part that an exchange's launch and a rank's own copy share. `own` is what this rank has for
// itself, `ownTo` where it belongs; null where it has nothing to keep.
inline ncclResult_t exchange(const Exchange& x, const void* own, void* ownTo, cudaStream_t stream) {
  Session& s = session();
  if (own != nullptr) DEVICE_COMM_NCCL(copyOwn(own, ownTo, x.bytes, stream));
  if (s.ranks > 1) DEVICE_COMM_NCCL(launchExchangeKernel(s.wire, x, s.ranks, stream));
  return end(stream);
}
