
inline ncclResult_t launchReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                                 ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  Reduction r{0, 0, count, count, root, false, type, op, static_cast<int>(bytesOf(type))};
  return reduce(r, send, count, recv, session().rank == root ? count : 0, stream);
}
