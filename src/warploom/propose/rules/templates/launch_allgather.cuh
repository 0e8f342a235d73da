
inline ncclResult_t launchAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                    ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  size_t bytes = count * bytesOf(type);
  if (bytes == 0) return ncclSuccess;
  Exchange x{0, 0, 0, bytes, bytes, kEveryone, kEveryone};
  DEVICE_COMM_NCCL(locate(send, bytes, "AllGather's send buffer", &x.send));
  DEVICE_COMM_NCCL(locate(recv, s.ranks * bytes, "AllGather's receive buffer", &x.recv));
  return exchange(x, send, static_cast<char*>(recv) + s.rank * bytes, stream);
}
