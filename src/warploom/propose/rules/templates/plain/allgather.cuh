
inline ncclResult_t launchAllGather(const void* send, void* recv, size_t count, ncclDataType_t@TYPE@,
                                    ncclComm_t, cudaStream_t stream) {
  const size_t bytes = count * @BYTES@;
  if (bytes == 0) return ncclSuccess;
  DEVICE_COMM_NCCL(onStream(stream));
  Place from, to;
  DEVICE_COMM_NCCL(find(send, bytes, &from));
  DEVICE_COMM_NCCL(find(recv, bytes * dev.nRanks, &to));
  return exchange(from, to, bytes, 0, stream);
}
