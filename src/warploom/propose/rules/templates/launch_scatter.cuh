
inline ncclResult_t launchScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                                  int root, ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  size_t bytes = count * bytesOf(type);
  if (bytes == 0) return ncclSuccess;
  bool isRoot = s.rank == root;
  Exchange x{0, 0, bytes, 0, bytes, isRoot ? kEveryone : kNobody, isRoot ? kNobody : root};
  if (isRoot) DEVICE_COMM_NCCL(locate(send, s.ranks * bytes, "Scatter's send buffer", &x.send));
  if (!isRoot) DEVICE_COMM_NCCL(locate(recv, bytes, "Scatter's receive buffer", &x.recv));
  const char* own = static_cast<const char*>(send) + s.rank * bytes;
  return exchange(x, isRoot ? own : nullptr, recv, stream);
}
