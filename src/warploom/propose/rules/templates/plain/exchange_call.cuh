
inline ncclResult_t launch@CALL@(
    const void* send, void* recv, size_t count, ncclDataType_t@TYPE@, ncclComm_t, cudaStream_t stream) {
  const size_t bytes = count * @BYTES@;
  if (bytes == 0) return ncclSuccess;
@ON_STREAM@  Place from, to;
  DEVICE_COMM_NCCL(find(send, @SENT@, &from));
  DEVICE_COMM_NCCL(find(recv, bytes * dev.nRanks, &to));
  exchangeKernel<<<@EXCHANGE_SHAPE@, 0, stream>>>(dev, from, to, bytes, @STRIDE@);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
