
inline ncclResult_t launchReduceScatter(const void* send, void* recv, size_t count,
                                        ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                        cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  size_t total = count * session().ranks;
  Reduction r{0, 0, total, count, kEveryone, false, type, op, static_cast<int>(bytesOf(type))};
  return reduce(r, send, total, recv, count, stream);
}
