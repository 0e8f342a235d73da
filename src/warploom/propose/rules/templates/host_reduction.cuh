
inline bool isReducible(ncclDataType_t type) {
  switch (type) {
@REDUCIBLE_CASES@
      return true;
    default:
      return false;
  }
}

// Checks and completes a reduction, and launches it. `send` and `recv` are this rank's buffers.
inline ncclResult_t reduce(Reduction r, const void* send, size_t inputs, void* recv, size_t outputs,
                           cudaStream_t stream) {
  Session& s = session();
  if (!isReducible(r.type)) {
    return fail(ncclInvalidArgument, "reduction", "of a data type that was not generated");
  }
@RESOLVE_OPERATOR@  if (r.op < ncclSum || r.op > ncclAvg) {
    return fail(ncclInvalidArgument, "reduction", "with an operator of the program's own");
  }
  if (r.total == 0) return ncclSuccess;
@ONE_RANK@  if (s.ranks == 1) return copyOwn(send, recv, r.total * r.elementBytes, stream);
  DEVICE_COMM_NCCL(locate(send, inputs * r.elementBytes, "the reduction's send buffer", &r.send));
  if (outputs > 0) {
    DEVICE_COMM_NCCL(locate(recv, outputs * r.elementBytes, "the reduction's receive buffer", &r.recv));
  }
@ON_DEVICE@  DEVICE_COMM_NCCL(follow(stream));
  DEVICE_COMM_NCCL(launchReduceKernel(s.wire, r, s.ranks, stream));
  return end(stream);
}
