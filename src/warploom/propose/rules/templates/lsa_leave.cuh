  if (s.open && kCloseTogether && !kLeaveTogether) {  // a last meeting: nobody reads from here any more
    Exchanges none{};
    DEVICE_COMM_NCCL(launchExchangeKernel(s.wire, none, s.ranks, 0));
    DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
  }
