
inline ncclResult_t launch@CALL@(
    const void* send, void* recv, size_t count, ncclDataType_t@TYPE@, ncclComm_t, cudaStream_t stream) {
  const size_t bytes = count * @BYTES@;
  if (bytes == 0) return ncclSuccess;
  DEVICE_COMM_NCCL(onStream(stream));
  Place from, to;
  DEVICE_COMM_NCCL(find(send, @SENT@, &from));
  DEVICE_COMM_NCCL(find(recv, bytes * dev.nRanks, &to));
  return exchange(from, to, bytes, @STRIDE@, stream);
}
