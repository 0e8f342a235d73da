
inline ncclResult_t launchReduceKernel(Wire& wire, const Reduction& r, int ranks,
                                       cudaStream_t stream) {
  unsigned threads = static_cast<unsigned>(roundUp(ranks > kThreads ? ranks : kThreads, 32));
  reduceKernel<<<1, threads, 0, stream>>>(wire, r);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
