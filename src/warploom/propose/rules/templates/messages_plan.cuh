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
