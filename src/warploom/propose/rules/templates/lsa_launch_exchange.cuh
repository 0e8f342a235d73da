
inline ncclResult_t launchExchangeKernel(const Wire& wire, const Exchange& x, int,
                                         cudaStream_t stream) {
  exchangeKernel<<<kBlocks, kThreads, 0, stream>>>(wire, x);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
