
inline ncclResult_t launchGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                 int root, ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  size_t bytes = count * bytesOf(type);
  if (bytes == 0) return ncclSuccess;
  bool isRoot = s.rank == root;
  Exchange x{0, 0, 0, bytes, bytes, isRoot ? kNobody : root, isRoot ? kEveryone : kNobody};
  if (!isRoot) DEVICE_COMM_NCCL(locate(send, bytes, "Gather's send buffer", &x.send));
  if (isRoot) DEVICE_COMM_NCCL(locate(recv, s.ranks * bytes, "Gather's receive buffer", &x.recv));
  return exchange(x, isRoot ? send : nullptr, static_cast<char*>(recv) + s.rank * bytes, stream);
}
