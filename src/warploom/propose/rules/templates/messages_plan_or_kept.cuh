  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  DEVICE_COMM_CUDA(cudaStreamIsCapturing(stream, &captured));
  char* where = nullptr;
  if (captured == cudaStreamCaptureStatusNone) {
@WRITE_PLAN@    where = s.plan;
  } else {
    DEVICE_COMM_NCCL(keepPlan(bytes, &where));
    std::copy(g.lanes.begin(), g.lanes.end(), reinterpret_cast<Lane*>(where));
    std::copy(g.messages.begin(), g.messages.end(), reinterpret_cast<Message*>(where + laneBytes));
  }
