
// ---- host: launches --------------------------------------------------------------------------

inline size_t bytesOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

// Finds the place of [buffer, buffer + bytes).
inline ncclResult_t locate(const void* buffer, size_t bytes, const char* what, Place* place) {
  Session& s = session();
  if (s.ranks == 1) return ncclSuccess;  // nothing travels
  char* start = static_cast<char*>(const_cast<void*>(buffer));
  auto entry = s.blocks.upper_bound(start);
  if (entry == s.blocks.begin()) return fail(ncclInvalidArgument, what, "is not in a window");
  --entry;
  size_t offset = start - entry->first;
  const Block& block = entry->second;
  if (offset >= block.bytes || block.window < 0) {
    return fail(ncclInvalidArgument, what, "is not in a window");
  }
  if (bytes > block.bytes - offset) {
    return fail(ncclInvalidArgument, what, "is longer than the memory that it lies in");
  }
  *place = (Place(block.window) << kPlaceBits) + offset;
  return ncclSuccess;
}

// Every communication is between these two: it starts after the one before it, on any stream.
inline ncclResult_t begin(ncclComm_t comm, cudaStream_t stream) {
  Session& s = session();
  if (comm != s.comm) return fail(ncclInvalidUsage, "communicator", "is not the one of this process");
  DEVICE_COMM_NCCL(openWindows());
  if (s.open) DEVICE_COMM_CUDA(cudaStreamWaitEvent(stream, s.last, 0));
  return ncclSuccess;
}
inline ncclResult_t end(cudaStream_t stream) {
  Session& s = session();
  if (s.open) DEVICE_COMM_CUDA(cudaEventRecord(s.last, stream));
  return ncclSuccess;
}

// What a rank sends to itself does not travel.
inline ncclResult_t copyOwn(const void* from, void* to, size_t bytes, cudaStream_t stream) {
  if (from == to || bytes == 0) return ncclSuccess;
  DEVICE_COMM_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  return ncclSuccess;
}
