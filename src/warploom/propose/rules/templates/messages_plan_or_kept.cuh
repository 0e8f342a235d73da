  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  DEVICE_COMM_CUDA(cudaStreamIsCapturing(stream, &captured));
  char* plan = nullptr;
  if (captured == cudaStreamCaptureStatusNone) {
    if (bytes > s.planBytes) {
      DEVICE_COMM_CUDA(cudaFree(s.plan));
      s.planBytes = 2 * bytes;
      DEVICE_COMM_CUDA(cudaMalloc(&s.plan, s.planBytes));
    }
    DEVICE_COMM_CUDA(cudaMemcpyAsync(s.plan, g.lanes.data(), g.lanes.size() * sizeof(Lane),
                                  cudaMemcpyHostToDevice, stream));
    DEVICE_COMM_CUDA(cudaMemcpyAsync(s.plan + laneBytes, g.messages.data(),
                                  g.messages.size() * sizeof(Message), cudaMemcpyHostToDevice,
                                  stream));
    plan = s.plan;
  } else {
    DEVICE_COMM_NCCL(keepPlan(bytes, &plan));
    std::copy(g.lanes.begin(), g.lanes.end(), reinterpret_cast<Lane*>(plan));
    std::copy(g.messages.begin(), g.messages.end(), reinterpret_cast<Message*>(plan + laneBytes));
  }
