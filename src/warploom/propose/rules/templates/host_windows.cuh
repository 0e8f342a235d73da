
// A communicator that does not block goes on by itself: `settle` waits for it.
inline ncclResult_t accepted(ncclResult_t status) {
  return status == ncclInProgress ? ncclSuccess : status;
}
inline ncclResult_t settle(Session& s) {
  ncclResult_t status = ncclInProgress;
  while (status == ncclInProgress) DEVICE_COMM_NCCL(ncclCommGetAsyncError(s.comm, &status));
  return status;
}

using Sessions = std::vector<Session*>;

// Does one step for each of `all`.
template <typename Step>
ncclResult_t forEach(const Sessions& all, Step step) {
  for (Session* s : all) {
    calls().at = s;
@ON_STAR@    DEVICE_COMM_NCCL(step(*s));
  }
  return ncclSuccess;
}

// The same with a step that is collective: in a group, since one thread may do it for several ranks,
// of which none must wait for the next.
template <typename Step>
ncclResult_t together(const Sessions& all, Step step) {
  if (all.size() > 1) DEVICE_COMM_NCCL(ncclGroupStart());
  DEVICE_COMM_NCCL(forEach(all, step));
  if (all.size() > 1) DEVICE_COMM_NCCL(accepted(ncclGroupEnd()));
  return forEach(all, settle);
}

inline ncclResult_t registerWindow(char* base, size_t bytes) {
  Session& s = session();
  if (s.windows.size() == kMaxWindows) {
    return fail(ncclInvalidUsage, "windows", "more than kMaxWindows buffers take part");
  }
  s.windows.reserve(kMaxWindows);  // a group fills in what lies there at its end
  s.windows.push_back(nullptr);
  return accepted(ncclCommWindowRegister(s.comm, base, bytes, &s.windows.back(),
                                         NCCL_WIN_COLL_SYMMETRIC));
}

inline ncclResult_t registerControl(Session& s) {
  return registerWindow(s.control, s.controlBytes);
}
inline ncclResult_t registerNext(Session& s) {
  if (s.chosen.empty()) return ncclSuccess;
  char* base = s.chosen.front();
  s.chosen.pop_front();
  return registerWindow(base, s.blocks[base].bytes);
}

inline ncclResult_t checkWindows(Session& s) {
  if (std::find(s.windows.begin(), s.windows.end(), nullptr) == s.windows.end()) return ncclSuccess;
  return fail(ncclInvalidUsage, "ncclCommWindowRegister",
              "this machine gives no symmetric memory, which the device API needs");
}

// Every communication is launched between these two: it starts after the one before it, on whatever
// stream that is.
inline ncclResult_t follow(cudaStream_t stream) {
  Session& s = session();
  if (!s.open || !s.begun || (kLazyOrder && stream == s.stream)) return ncclSuccess;
  if (kLazyOrder) DEVICE_COMM_CUDA(cudaEventRecord(s.last, s.stream));
  DEVICE_COMM_CUDA(cudaStreamWaitEvent(stream, s.last, 0));
  return ncclSuccess;
}
inline ncclResult_t end(cudaStream_t stream) {
  Session& s = session();
  s.begun = true;
  s.stream = stream;
  if (s.open && !kLazyOrder) DEVICE_COMM_CUDA(cudaEventRecord(s.last, stream));
  return ncclSuccess;
}

// How long the parts of the control window are.
inline size_t mailBytes(int ranks) { return roundUp(@MAIL_BYTES@, 128); }
inline size_t listBytes() { return (1 + kMaxFresh) * sizeof(uint64_t); }

inline ncclResult_t createDevComm(Session& s) {
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements needs{};  // up to NCCL 2.28
#endif
@REQUIREMENTS@
  s.needs = needs;
  return accepted(ncclDevCommCreate(s.comm, &s.needs, &s.wire.dev));
}

// Brings the gathered list to the host, which reads pinned memory.
__global__ void publishList(const uint64_t* list, uint64_t* host, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) host[i] = list[i];
}

// Asks who this is. A communicator that is made in a group can be asked when the group has ended.
inline ncclResult_t identify(Session& s) {
  if (s.known) return ncclSuccess;
  DEVICE_COMM_NCCL(settle(s));
  DEVICE_COMM_NCCL(ncclCommCount(s.comm, &s.ranks));
  DEVICE_COMM_NCCL(ncclCommUserRank(s.comm, &s.rank));
  int device = 0;
  DEVICE_COMM_NCCL(ncclCommCuDevice(s.comm, &device));
@LOCK@  s.device = device;
  s.known = true;
  return ncclSuccess;
}

// The control window holds mailboxes, the list of new windows, and staging for reductions.
inline ncclResult_t prepareControl(Session& s) {
@PRECONDITION@
  s.wire.list = mailBytes(s.ranks);
  s.wire.staging = roundUp(s.wire.list + s.ranks * listBytes(), 128);
@SLOT@
  s.controlBytes = windowBytes(s.wire.staging + s.ranks * s.wire.slot);
  void *memory = nullptr, *pinned = nullptr;
  DEVICE_COMM_NCCL(ncclMemAlloc(&memory, s.controlBytes));
  s.control = static_cast<char*>(memory);
  DEVICE_COMM_CUDA(cudaMemset(s.control, 0, s.wire.staging));
  DEVICE_COMM_CUDA(cudaMalloc(&s.table, kMaxWindows * sizeof(ncclWindow_t)));
  s.wire.windows = s.table;
  DEVICE_COMM_CUDA(cudaMallocHost(&pinned, s.ranks * listBytes()));
  s.agreed = static_cast<uint64_t*>(pinned);
  DEVICE_COMM_CUDA(cudaEventCreateWithFlags(&s.last, cudaEventDisableTiming));
@PRELOAD@  DEVICE_COMM_CUDA(cudaDeviceSynchronize());
  return ncclSuccess;
}

inline ncclResult_t copyTable(Session& s) {
  DEVICE_COMM_NCCL(checkWindows(s));
  DEVICE_COMM_CUDA(cudaMemcpy(s.table, s.windows.data(), s.windows.size() * sizeof(ncclWindow_t),
                           cudaMemcpyHostToDevice));
  return ncclSuccess;
}

inline ncclResult_t openControl(const Sessions& all) {
  DEVICE_COMM_NCCL(forEach(all, prepareControl));
  DEVICE_COMM_NCCL(together(all, registerControl));
  DEVICE_COMM_NCCL(together(all, createDevComm));
  for (Session* s : all) s->open = true;
  return forEach(all, copyTable);
}

// The sizes of this rank's new buffers: first how many, then each.
inline std::vector<uint64_t> newSizes(Session& s) {
@LOCK@  std::vector<uint64_t> mine(1);
  s.fresh = 0;
  for (auto& [start, memory] : state().memory) {
    if (memory.device == s.device && s.blocks.count(start) == 0) mine.push_back(memory.bytes);
  }
  mine[0] = mine.size() - 1;
  return mine;
}

// Puts them where the ranks gather them.
inline ncclResult_t writeSizes(Session& s) {
  std::vector<uint64_t> mine = newSizes(s);
  if (mine.size() > 1 + kMaxFresh) {
    return fail(ncclInvalidUsage, "openWindows", "more than kMaxFresh new buffers at a time");
  }
  char* row = s.control + s.wire.list + s.rank * listBytes();
  DEVICE_COMM_NCCL(follow(0));
  DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
  DEVICE_COMM_CUDA(cudaMemcpy(row, mine.data(), mine.size() * sizeof(uint64_t),
                              cudaMemcpyHostToDevice));
  return ncclSuccess;
}

// Tells all ranks this rank's sizes, and has theirs written into `agreed`.
inline ncclResult_t gatherSizes(Session& s) {
  Place list = s.wire.list, own = list + s.rank * listBytes();
  Exchanges all{1, {{own, list, 0, listBytes(), listBytes(), kEveryone, kEveryone}}};
  DEVICE_COMM_NCCL(launchExchangeKernel(s.wire, all, s.ranks, 0));
  int words = s.ranks * (1 + kMaxFresh);
  auto* gathered = reinterpret_cast<const uint64_t*>(s.control + s.wire.list);
  publishList<<<1, 128, 0, 0>>>(gathered, s.agreed, words);
  DEVICE_COMM_CUDA(cudaGetLastError());
  return ncclSuccess;
}

// Chooses `count` blocks for new windows of `bytes`: this rank's own, then stand-ins that a later
// windowMalloc may use.
inline ncclResult_t chooseBlocks(Session& s, size_t bytes, size_t count) {
@LOCK@  std::vector<char*> chosen;
  for (auto& [start, memory] : state().memory) {
    bool fits = memory.device == s.device && memory.bytes == bytes;
    if (fits && s.blocks.count(start) == 0 && chosen.size() < count) chosen.push_back(start);
  }
  while (chosen.size() < count) {
    void* memory = nullptr;
    DEVICE_COMM_NCCL(ncclMemAlloc(&memory, bytes));
    chosen.push_back(static_cast<char*>(memory));
    state().memory[chosen.back()] = Memory{bytes, s.device, false, 0};
  }
  for (char* start : chosen) {
    ++state().memory[start].windows;
    s.blocks[start] = Block{bytes, true, static_cast<int>(s.windows.size() + s.chosen.size())};
    s.chosen.push_back(start);
  }
  return ncclSuccess;
}

// Windows must have the same size and order on all ranks: of each size, as many windows as the rank
// with the most new buffers needs.
inline ncclResult_t chooseWindows(Session& s) {
  DEVICE_COMM_CUDA(cudaStreamSynchronize(0));
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
  for (auto& entry : wanted) DEVICE_COMM_NCCL(chooseBlocks(s, entry.first, entry.second));
  return ncclSuccess;
}

inline ncclResult_t registerChosen(const Sessions& all) {
  size_t most = 0;
  for (Session* s : all) most = std::max(most, s->chosen.size());
  if (most == 0) return ncclSuccess;  // windows of before do again
  for (size_t i = 0; i < most; ++i) DEVICE_COMM_NCCL(together(all, registerNext));
  return forEach(all, copyTable);
}

// Opens what is not open yet, and makes windows of new buffers. All ranks of the communicators do
// this together, in the same order.
inline ncclResult_t openSessions(const Sessions& all) {
  Sessions closed, stale;
  for (Session* s : all) {
    DEVICE_COMM_NCCL(identify(*s));
    if (s->ranks == 1) continue;
    if (!s->open) closed.push_back(s);
    if (!s->open || s->fresh > 0) stale.push_back(s);
  }
  if (!closed.empty()) DEVICE_COMM_NCCL(openControl(closed));
  if (stale.empty()) return ncclSuccess;
  DEVICE_COMM_NCCL(forEach(stale, writeSizes));
  DEVICE_COMM_NCCL(forEach(stale, gatherSizes));
  DEVICE_COMM_NCCL(forEach(stale, chooseWindows));
  return registerChosen(stale);
}

// The communicators that are opened with `s`: those that this thread made together with it. What
// another thread made is that of a device of its own.
inline Sessions madeWith(Session& s) {
@LOCK@  Sessions all;
  for (Session& other : state().sessions) {
    bool same = other.made == s.made && other.maker == &calls();
    if (same || &other == &s) all.push_back(&other);
  }
  return all;
}

inline Sessions madeHere() {
@LOCK@  Sessions all;
  for (Session& s : state().sessions) {
    if (s.maker == &calls()) all.push_back(&s);
  }
  return all;
}

// Opens the windows of all communicators that this thread has made until now.
inline ncclResult_t openWindows() {
  Sessions all = madeHere();
  if (all.empty()) return fail(ncclInvalidUsage, "openWindows", "there is no communicator");
  return openSessions(all);
}
