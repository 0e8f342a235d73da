
inline ncclResult_t launchExchangeKernel(const Wire& wire, const Exchange& x, int ranks,
                                         cudaStream_t stream) {
  exchangeKernel<<<1, static_cast<unsigned>(roundUp(ranks, 32)), 0, stream>>>(wire, x);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
