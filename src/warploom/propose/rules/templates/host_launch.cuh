
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
  if (offset >= block.bytes) return fail(ncclInvalidArgument, what, "is not in a window");
  if (bytes > block.bytes - offset) {
    return fail(ncclInvalidArgument, what, "is longer than the memory that it lies in");
  }
  *place = placeOf(block.window, offset);
  return ncclSuccess;
}

// Every communication calls this first.
inline ncclResult_t begin(ncclComm_t comm) {
  Session* known = find(comm);
  Session& s = known != nullptr ? *known : adopt(comm, makingNow());
  Calls& c = calls();
  bool listed = std::find(c.all.begin(), c.all.end(), &s) != c.all.end();
  if (c.depth > 0 && !listed) c.all.push_back(&s);
  bool ready = s.known && (s.ranks == 1 || (s.open && s.fresh == 0));
  if (!ready) DEVICE_COMM_NCCL(openSessions(madeWith(s)));
  c.at = &s;
  return ncclSuccess;
}

// What a rank sends to itself does not travel.
inline ncclResult_t copyOwn(const void* from, void* to, size_t bytes, cudaStream_t stream) {
  if (from == to || bytes == 0) return ncclSuccess;
@ON_SESSION@  DEVICE_COMM_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  return ncclSuccess;
}
