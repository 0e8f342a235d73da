
inline ncclResult_t launchAllReduce(const void* send, void* recv, size_t count, ncclDataType_t,
                                    ncclRedOp_t op, ncclComm_t, cudaStream_t stream) {
  if (count == 0) return ncclSuccess;
@ON_STREAM@  Place from, to;
  DEVICE_COMM_NCCL(find(send, count * sizeof(@ELEMENT@), &from));
  DEVICE_COMM_NCCL(find(recv, count * sizeof(@ELEMENT@), &to));
@FIND_STAGING@  allReduceKernel<@ELEMENT@><<<@REDUCE_SHAPE@, 0, stream>>>(dev, from, to, @STAGE@count, op);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
