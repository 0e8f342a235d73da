
inline ncclResult_t launchReduceKernel(const Wire& wire, const Reduction& r, int ranks,
                                       cudaStream_t stream) {
  size_t shared = 2 * ranks * sizeof(char*);
  reduceKernel<<<kBlocks, kThreads, shared, stream>>>(wire, r);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
