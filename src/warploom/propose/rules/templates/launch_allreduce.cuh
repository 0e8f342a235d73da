
inline ncclResult_t launchAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  size_t size = bytesOf(type);
  size_t slice = (count + session().ranks - 1) / session().ranks;
  slice = roundUp(slice, 16);  // slices of whole 16-byte words, whatever the type
  Reduction r{0, 0, count, slice, kEveryone, true, type, op, static_cast<int>(size)};
  return reduce(r, send, count, recv, count, stream);
}
