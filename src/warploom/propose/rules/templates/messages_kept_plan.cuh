// Memory for the plan of a group, which the kernel reads from the host's memory: each replay of a
// graph reads it again, so it stays until the communicator ends.
inline ncclResult_t keepPlan(size_t bytes, char** plan) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;  // this allocation is in no graph
  DEVICE_COMM_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  void* pinned = nullptr;
  DEVICE_COMM_CUDA(cudaMallocHost(&pinned, bytes));
  DEVICE_COMM_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  session().plans.push_back(pinned);
  *plan = static_cast<char*>(pinned);
  return ncclSuccess;
}

