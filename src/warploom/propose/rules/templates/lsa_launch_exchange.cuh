
inline ncclResult_t launchExchangeKernel(Wire& wire, const Exchanges& all, int ranks,
                                         cudaStream_t stream) {
  size_t bytes = 0;
  for (int i = 0; i < all.count; ++i) {
    if (all.item[i].parts == nullptr) bytes += all.item[i].bytes * ranks;
  }
  ++wire.turn;
  unsigned blocks = blocksFor(bytes), least = static_cast<unsigned>(smaller(ranks, kBlocks));
  if (kSpread == kByBlocks && bytes > 0 && blocks < least) blocks = least;
  exchangeKernel<<<blocks, kThreads, 0, stream>>>(wire, all);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
