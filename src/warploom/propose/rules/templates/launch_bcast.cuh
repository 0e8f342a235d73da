
inline ncclResult_t launchBcast(void* buffer, size_t count, ncclDataType_t type, int root,
                                ncclComm_t comm, cudaStream_t stream) {
  return launchBroadcast(buffer, buffer, count, type, root, comm, stream);
}
