  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  DEVICE_COMM_CUDA(cudaStreamIsCapturing(stream, &captured));
  char* plan = nullptr;
  if (captured == cudaStreamCaptureStatusNone) {
@WRITE_PLAN@    plan = s.plan;
  } else {
    DEVICE_COMM_NCCL(keepPlan(bytes, &plan));
    std::copy(g.lanes.begin(), g.lanes.end(), reinterpret_cast<Lane*>(plan));
    std::copy(g.messages.begin(), g.messages.end(), reinterpret_cast<Message*>(plan + laneBytes));
  }
