
// ---- host: memory and windows ----------------------------------------------------------------

@BATCH@@PENDING@// Memory of `windowMalloc`; `windows` counts the communicators that have it as a window.
struct Memory {
  size_t bytes;
  int device;
  bool used;
  int windows;
};

// Memory in a window of a communicator, whose number is the same on every rank: `shared` with other
// communicators, or freed with this one.
struct Block {
  size_t bytes;
  bool shared;
  int window;
};

struct Calls;

// What this process knows of a communicator, that is of one rank.
struct Session {
  ncclComm_t comm = nullptr;
  const Calls* maker = nullptr;  // whose thread made it
  int made = 0;  // communicators of one number were made together: so are their windows
  int device = 0, rank = 0, ranks = 1;
  bool known = false, open = false, left = false;
  size_t fresh = 0;  // calls of windowMalloc since the ranks last agreed on their windows
  Wire wire{};
  ncclDevCommRequirements needs{};
  ncclWindow_t* table = nullptr;  // wire.windows, as memory that can be written
  uint64_t* agreed = nullptr;     // pinned: the list of all ranks
  char* control = nullptr;
  size_t controlBytes = 0;
  char* plan = nullptr;  // the kernel's copy of a group of messages
  size_t planBytes = 0;
@PLANS@  std::vector<ncclWindow_t> windows;
  std::map<char*, Block> blocks;
  std::list<char*> chosen;  // becomes windows next
  bool begun = false;  // whether anything has been communicated
  cudaStream_t stream = nullptr;  // of the latest communication
  cudaEvent_t last = nullptr;     // its end
@STATE@};

// What the process has: a session for each communicator, and memory for their windows.
struct State {
  std::list<Session> sessions;
  std::map<char*, Memory> memory;
  int made = 0;
@MUTEX@};

inline State& state() {
  static State only;
  return only;
}

// The calls of a group, and the communicator at work.
struct Calls {
  int depth = 0;
  int made = 0;               // number of the communicators that the open group makes
  bool native = false;        // NCCL's own group is open, too
  Session* at = nullptr;      // what `session` gives
  std::vector<Session*> all;  // of the open group
};

inline Calls& calls() {
  static @THREAD@Calls only;
  return only;
}

inline Session& session() {
  static Session none;
  if (calls().at != nullptr) return *calls().at;
  return state().sessions.empty() ? none : state().sessions.front();
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

@ON_DEVICE_CLASS@inline cudaError_t takeBlock(char** base, size_t bytes) {
  int device = 0;
  cudaError_t current = cudaGetDevice(&device);
  if (current != cudaSuccess) return current;
@LOCK@  for (Session& s : state().sessions) s.fresh += s.device == device;
  for (auto& [start, memory] : state().memory) {
    if (memory.used || memory.bytes != bytes || memory.device != device) continue;
    memory.used = true;
    *base = start;
    return cudaSuccess;
  }
  void* memory = nullptr;
  ncclResult_t status = ncclMemAlloc(&memory, bytes);
  if (status != ncclSuccess) {
    fail(status, "ncclMemAlloc", ncclGetErrorString(status));
    return cudaErrorMemoryAllocation;
  }
  *base = static_cast<char*>(memory);
  state().memory[*base] = Memory{bytes, device, true, 0};
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
  *pointer = reinterpret_cast<Element*>(base);
  return cudaSuccess;
}

// The device of windowMalloc's memory at `pointer`; -1 where it is other memory.
inline int deviceOf(void* pointer) {
@LOCK@  auto entry = state().memory.find(static_cast<char*>(pointer));
  return entry == state().memory.end() ? -1 : entry->second.device;
}

// Gives back a block that nobody uses any more. A window's memory is kept for a later windowMalloc,
// until its communicators are destroyed: no rank may take a window away while others can reach it.
inline cudaError_t release(void* pointer) {
@LOCK@  auto entry = state().memory.find(static_cast<char*>(pointer));
  entry->second.used = false;
  if (entry->second.windows > 0) return cudaSuccess;
  state().memory.erase(entry);
  return ncclMemFree(pointer) == ncclSuccess ? cudaSuccess : cudaErrorInvalidValue;
}

// In place of cudaFree.
inline cudaError_t windowFree(void* pointer) {
  int device = deviceOf(pointer);
  if (device < 0) return cudaFree(pointer);
@ON_BLOCK@  cudaError_t status = cudaDeviceSynchronize();  // as cudaFree does
  return status == cudaSuccess ? release(pointer) : status;
}
