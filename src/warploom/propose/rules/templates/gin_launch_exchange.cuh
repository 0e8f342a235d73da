
inline ncclResult_t launchExchangeKernel(Wire& wire, const Exchanges& all, int ranks,
                                         cudaStream_t stream) {
  bool copies = false;
  for (int i = 0; i < all.count; ++i) copies = copies || all.item[i].own;
  ++wire.turn;
  size_t threads = roundUp(copies && ranks < kThreads ? kThreads : ranks, 32);
  exchangeKernel<<<1, static_cast<unsigned>(threads), 0, stream>>>(wire, all);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
