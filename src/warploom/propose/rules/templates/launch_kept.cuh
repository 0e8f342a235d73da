  DEVICE_COMM_NCCL(launchBatch());
  return launchMessages();
