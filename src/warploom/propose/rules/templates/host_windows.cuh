
inline ncclResult_t registerWindow(char* base, size_t bytes) {
  Session& s = session();
  if (s.windows.size() == kMaxWindows) {
    return fail(ncclInvalidUsage, "windows", "more than kMaxWindows buffers take part");
  }
  ncclWindow_t window = nullptr;
  DEVICE_COMM_NCCL(ncclCommWindowRegister(s.comm, base, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
  if (window == nullptr) {
    return fail(ncclInvalidUsage, "ncclCommWindowRegister",
                "this machine gives no symmetric memory, which the device API needs");
  }
  s.windows.push_back(window);
  return ncclSuccess;
}

// How long the parts of the control window are.
inline size_t mailBytes(int ranks) { return roundUp(@MAIL_BYTES@, 128); }
inline size_t listBytes() { return (1 + kMaxFresh) * sizeof(uint64_t); }

inline ncclResult_t createDevComm() {
  Session& s = session();
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements needs{};  // up to NCCL 2.28
#endif
@REQUIREMENTS@
  DEVICE_COMM_NCCL(ncclDevCommCreate(s.comm, &needs, &s.wire.dev));
  return ncclSuccess;
}

// The control window holds mailboxes, the list of new windows, and staging for reductions.
inline ncclResult_t openControl() {
  Session& s = session();
@PRECONDITION@
  s.wire.list = mailBytes(s.ranks);
  s.wire.staging = roundUp(s.wire.list + s.ranks * listBytes(), 128);
@SLOT@
  size_t bytes = windowBytes(s.wire.staging + s.ranks * s.wire.slot);
  void* memory = nullptr;
  DEVICE_COMM_NCCL(ncclMemAlloc(&memory, bytes));
  s.control = static_cast<char*>(memory);
  DEVICE_COMM_CUDA(cudaMemset(s.control, 0, s.wire.staging));
  DEVICE_COMM_CUDA(cudaDeviceSynchronize());
  DEVICE_COMM_NCCL(registerWindow(s.control, bytes));
  DEVICE_COMM_NCCL(createDevComm());
  DEVICE_COMM_CUDA(cudaMalloc(&s.table, kMaxWindows * sizeof(ncclWindow_t)));
  DEVICE_COMM_CUDA(cudaMemcpy(s.table, s.windows.data(), sizeof(ncclWindow_t), cudaMemcpyHostToDevice));
  s.wire.windows = s.table;
  void* pinned = nullptr;
  DEVICE_COMM_CUDA(cudaMallocHost(&pinned, s.ranks * listBytes()));
  s.agreed = static_cast<uint64_t*>(pinned);
  DEVICE_COMM_CUDA(cudaEventCreateWithFlags(&s.last, cudaEventDisableTiming));
  DEVICE_COMM_CUDA(cudaEventRecord(s.last, 0));
  s.open = true;
  return ncclSuccess;
}

// Brings the gathered list to the host, which reads pinned memory.
__global__ void publishList(const uint64_t* list, uint64_t* host, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) host[i] = list[i];
}

// Tells all ranks the sizes of this rank's new buffers and learns theirs, into `agreed`.
inline ncclResult_t gatherSizes(const std::vector<uint64_t>& mine) {
  Session& s = session();
  Place list = s.wire.list;
  char* row = s.control + s.wire.list + s.rank * listBytes();
  DEVICE_COMM_CUDA(cudaStreamWaitEvent(0, s.last, 0));
  DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
  DEVICE_COMM_CUDA(cudaMemcpy(row, mine.data(), listBytes(), cudaMemcpyHostToDevice));
  Exchange x{list + s.rank * listBytes(), list, 0, listBytes(), listBytes(), kEveryone, kEveryone};
  DEVICE_COMM_NCCL(launchExchangeKernel(s.wire, x, s.ranks, 0));
  int words = s.ranks * (1 + kMaxFresh);
  auto* gathered = reinterpret_cast<const uint64_t*>(s.control + s.wire.list);
  publishList<<<1, 128, 0, 0>>>(gathered, s.agreed, words);
  DEVICE_COMM_CUDA(cudaGetLastError());
  DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
  return ncclSuccess;
}

// Registers this rank's `count` new windows of `bytes`: its own buffers, then stand-ins that a
// later windowMalloc may use.
inline ncclResult_t registerAll(size_t bytes, size_t count) {
  Session& s = session();
  std::vector<char*> chosen;
  for (auto& entry : s.blocks) {
    bool isNew = entry.second.bytes == bytes && entry.second.window < 0;
    if (isNew && chosen.size() < count) chosen.push_back(entry.first);
  }
  while (chosen.size() < count) {
    void* memory = nullptr;
    DEVICE_COMM_NCCL(ncclMemAlloc(&memory, bytes));
    chosen.push_back(static_cast<char*>(memory));
    s.blocks[chosen.back()] = Block{bytes, false, -1};
  }
  for (char* base : chosen) {
    s.blocks[base].window = static_cast<int>(s.windows.size());
    DEVICE_COMM_NCCL(registerWindow(base, bytes));
  }
  return ncclSuccess;
}

// All ranks call this together. Windows must have the same size and order on all ranks, so the
// ranks first agree: of each size, as many windows as the rank with the most new buffers needs.
inline ncclResult_t openWindows() {
  Session& s = session();
  if (s.comm == nullptr) return fail(ncclInvalidUsage, "openWindows", "there is no communicator");
  if (s.ranks == 1) return ncclSuccess;
  if (!s.open) {
    DEVICE_COMM_NCCL(openControl());
  } else if (s.fresh == 0) {
    return ncclSuccess;
  }
  s.fresh = 0;
  std::vector<uint64_t> mine(1);
  for (auto& entry : s.blocks) {
    if (entry.second.window < 0) mine.push_back(entry.second.bytes);
  }
  mine[0] = mine.size() - 1;
  if (mine.size() > 1 + kMaxFresh) {
    return fail(ncclInvalidUsage, "openWindows", "more than kMaxFresh new buffers at a time");
  }
  mine.resize(1 + kMaxFresh);
  DEVICE_COMM_NCCL(gatherSizes(mine));
  std::map<uint64_t, size_t> wanted;  // [size] = how many
  for (int rank = 0; rank < s.ranks; ++rank) {
    // Volatile: what ranks agree on is no result of the program.
    const volatile uint64_t* list = s.agreed + rank * (1 + kMaxFresh);
    std::map<uint64_t, size_t> theirs;
    for (uint64_t i = 1; i <= list[0]; ++i) {
      const uint64_t bytes = list[i];
      ++theirs[bytes];
    }
    for (auto& entry : theirs) wanted[entry.first] = std::max(wanted[entry.first], entry.second);
  }
  for (auto& entry : wanted) DEVICE_COMM_NCCL(registerAll(entry.first, entry.second));
  DEVICE_COMM_CUDA(cudaMemcpy(s.table, s.windows.data(), s.windows.size() * sizeof(ncclWindow_t),
                           cudaMemcpyHostToDevice));
  return ncclSuccess;
}
