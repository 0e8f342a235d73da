
inline ncclResult_t launchAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                                   ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  size_t bytes = count * bytesOf(type);
  if (bytes == 0) return ncclSuccess;
  Exchange x{0, 0, bytes, bytes, bytes, kEveryone, kEveryone};
  DEVICE_COMM_NCCL(locate(send, s.ranks * bytes, "AlltoAll's send buffer", &x.send));
  DEVICE_COMM_NCCL(locate(recv, s.ranks * bytes, "AlltoAll's receive buffer", &x.recv));
  const char* own = static_cast<const char*>(send) + s.rank * bytes;
  return exchange(x, own, static_cast<char*>(recv) + s.rank * bytes, stream);
}
