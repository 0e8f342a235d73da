
// ---- host: memory and windows ----------------------------------------------------------------

// Memory of `windowMalloc`. `window` is its number on every rank, -1 before it is registered.
struct Block {
  size_t bytes;
  bool used;
  int window;
};

// What this process knows of its communicator.
struct Session {
  ncclComm_t comm = nullptr;
  int rank = 0, ranks = 1;
  bool open = false;
  size_t fresh = 0;  // calls of windowMalloc since the ranks last agreed on their windows
  Wire wire{};
  ncclWindow_t* table = nullptr;  // wire.windows, as memory that can be written
  uint64_t* agreed = nullptr;     // pinned: the list of all ranks
  char* control = nullptr;
  char* plan = nullptr;  // the kernel's copy of a group of messages
  size_t planBytes = 0;
  std::vector<ncclWindow_t> windows;
  std::map<char*, Block> blocks;
  cudaEvent_t last = nullptr;  // the end of the latest communication
};

inline Session& session() {
  static Session only;
  return only;
}

inline ncclResult_t fail(ncclResult_t code, const char* what, const char* why) {
  std::fprintf(stderr, "warploom: rank %d: %s: %s\n", session().rank, what, why);
  return code;
}

#define DEVICE_COMM_CUDA(call)                                               \
  do {                                                                    \
    cudaError_t device_comm_status = (call);                                 \
    if (device_comm_status != cudaSuccess)                                   \
      return ::device_comm::fail(ncclUnhandledCudaError, #call,              \
                              cudaGetErrorString(device_comm_status));       \
  } while (0)
#define DEVICE_COMM_NCCL(call)                                               \
  do {                                                                    \
    ncclResult_t device_comm_status = (call);                                \
    if (device_comm_status != ncclSuccess) {                                 \
      return ::device_comm::fail(device_comm_status, #call,                     \
                              ncclGetErrorString(device_comm_status));       \
    }                                                                     \
  } while (0)

// Windows need whole pages. Rounding up by at most an eighth lets ranks whose buffers differ a
// little have windows of the same size.
inline size_t windowBytes(size_t bytes) {
  size_t granule = 4096;
  while (granule * 16 <= bytes) granule *= 2;
  return roundUp(bytes, granule);
}

inline cudaError_t takeBlock(char** base, size_t bytes) {
  Session& s = session();
  for (auto& entry : s.blocks) {
    if (entry.second.used || entry.second.bytes != bytes) continue;
    entry.second.used = true;
    *base = entry.first;
    return cudaSuccess;
  }
  void* memory = nullptr;
  ncclResult_t status = ncclMemAlloc(&memory, bytes);
  if (status != ncclSuccess) {
    fail(status, "ncclMemAlloc", ncclGetErrorString(status));
    return cudaErrorMemoryAllocation;
  }
  *base = static_cast<char*>(memory);
  s.blocks[*base] = Block{bytes, true, -1};
  return cudaSuccess;
}

// In place of cudaMalloc: memory that can be in a window.
template <typename Element>
cudaError_t windowMalloc(Element** pointer, size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  char* base = nullptr;
  cudaError_t status = takeBlock(&base, windowBytes(bytes));
  if (status != cudaSuccess) return status;
  ++session().fresh;
  *pointer = reinterpret_cast<Element*>(base);
  return cudaSuccess;
}

// In place of cudaFree. A window's memory is kept for a later windowMalloc, until the communicator
// is destroyed: no rank may take a window away while others can reach it.
inline cudaError_t windowFree(void* pointer) {
  Session& s = session();
  auto entry = s.blocks.find(static_cast<char*>(pointer));
  if (entry == s.blocks.end()) return cudaFree(pointer);
  cudaError_t status = cudaDeviceSynchronize();  // as cudaFree does
  if (status != cudaSuccess) return status;
  entry->second.used = false;
  if (entry->second.window >= 0) return cudaSuccess;
  s.blocks.erase(entry);
  return ncclMemFree(pointer) == ncclSuccess ? cudaSuccess : cudaErrorInvalidValue;
}
