
inline ncclResult_t launchReduceKernel(Wire& wire, const Reduction& r, int ranks,
                                       cudaStream_t stream) {
  ++wire.turn;
  size_t shared = @POINTERS@ * ranks * sizeof(char*);
  reduceKernel<<<blocksFor(r.total * r.elementBytes), kThreads, shared, stream>>>(wire, r);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
