@REGION_END@
// Memory of windowMalloc.
struct Memory {
  char* base;
  size_t bytes;
  ncclWindow_t window;
  bool freed;
};
inline std::vector<Memory>& memory() {
  static std::vector<Memory> all;
  return all;
}
inline ncclComm_t known = nullptr;  // the program's one communicator
@STAGED@
inline ncclResult_t fail(const char* why) {
  std::fprintf(stderr, "warploom: %s\n", why);
  return ncclInvalidUsage;
}
#define DEVICE_COMM_NCCL(call) \
  if (ncclResult_t device_comm_status = (call); device_comm_status != ncclSuccess) return device_comm_status

template <typename Element>
cudaError_t windowMalloc(Element** pointer, size_t bytes) {
  void* base = nullptr;
  const size_t all = (bytes + 4095) / 4096 * 4096;  // a window has whole pages
  if (all > 0 && ncclMemAlloc(&base, all) != ncclSuccess) return cudaErrorMemoryAllocation;
  if (all > 0) memory().push_back({static_cast<char*>(base), all, nullptr, false});
  *pointer = static_cast<Element*>(base);
  return cudaSuccess;
}

// A window's memory is given back with the communicator: peers can reach it until then.
inline cudaError_t windowFree(void* pointer) {
  for (Memory& m : memory()) {
    if (m.freed || m.base != pointer) continue;
    m.freed = true;
    if (m.window != nullptr) return cudaDeviceSynchronize();  // as cudaFree does
    return ncclMemFree(pointer) == ncclSuccess ? cudaSuccess : cudaErrorInvalidValue;
  }
  return cudaFree(pointer);
}

inline ncclResult_t commInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (known != nullptr) return fail("a second communicator needs the general form");
  DEVICE_COMM_NCCL(ncclCommInitRank(comm, ranks, id, rank));
  known = *comm;
  return ncclSuccess;
}

// All ranks do this together, when they have allocated what they communicate.
inline ncclResult_t openWindows() {
@STAGING@  for (Memory& m : memory()) {
    if (m.freed) continue;
    DEVICE_COMM_NCCL(ncclCommWindowRegister(known, m.base, m.bytes, &m.window, NCCL_WIN_COLL_SYMMETRIC));
    if (m.window == nullptr) return fail("this machine gives no symmetric memory");
  }
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements needs{};  // up to NCCL 2.28
#endif
@REQUIREMENTS@
@CREATE@}

inline ncclResult_t commDestroy(ncclComm_t comm) {
  if (cudaDeviceSynchronize() != cudaSuccess) return ncclUnhandledCudaError;
@UNSTAGE@  if (dev.nRanks > 0) DEVICE_COMM_NCCL(ncclDevCommDestroy(comm, &dev));
  for (Memory& m : memory()) {
    if (m.window != nullptr) DEVICE_COMM_NCCL(ncclCommWindowDeregister(comm, m.window));
    if (m.window != nullptr && m.freed) DEVICE_COMM_NCCL(ncclMemFree(m.base));
    m.window = nullptr;
  }
  known = nullptr;
  dev = {};
  return ncclCommDestroy(comm);
}
