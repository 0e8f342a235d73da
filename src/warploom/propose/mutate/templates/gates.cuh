
// ---- gates: kernels that communicate at their ends, with no kernel between -------------------

// What a kernel is to the exchanges around it.
constexpr int kProduces = 1;  // it writes last to what is sent
constexpr int kConsumes = 2;  // it reads what is received
constexpr int kGuarded = 4;   // what is sent is written again only when all ranks have read it

constexpr int kMaxFused = 8;  // receive buffers of fused exchanges

using Phase = uint32_t;  // counts kernels that tell; it may come round

// Where the messages lie that belong to a receive buffer, in the memory of their senders: message i
// of the buffer is that of rank i % ranks, and lies there as `from` says, alike on all ranks.
struct Received {
  ncclWindow_t window;
  size_t from;
  uint32_t bytes;   // of a message
  uint32_t stride;  // messages from one of a sender's to the next that this rank gets
};

// What this rank's kernels know. Phases only grow, and mean the same on all ranks.
struct Gates {
  ncclWindow_t window;  // a flag for each rank: the latest phase that it has told
  uint16_t rank, ranks;
  unsigned arrived;     // blocks of the running kernel that have done their work
  Phase phase;          // the latest that this rank has told
  Phase written, read;  // the same of a kernel that produces, and of a guarded one that consumes
  Received received[kMaxFused];
};
__device__ Gates* gates;  // null until the first exchange, which is a meeting of all ranks

using PhaseFlag = cuda::atomic_ref<Phase, cuda::thread_scope_system>;
using BlockCount = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__device__ inline bool isBefore(Phase a, Phase b) { return static_cast<int32_t>(a - b) < 0; }

__device__ inline unsigned threadOfBlock() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// All threads of a block call this first. A consumer waits until every rank has come as far as this
// one in producing; what they have told of may then be read.
__device__ inline void enter(int role) {
  if (gates == nullptr) return;
  Phase awaited = role & kConsumes ? gates->written : gates->read;
  if ((role & kConsumes) && isBefore(awaited, gates->read)) awaited = gates->read;
  auto* flags = static_cast<Phase*>(ncclGetLocalPointer(gates->window, 0));
  unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned peer = threadOfBlock(); peer < gates->ranks; peer += threads) {
    while (isBefore(PhaseFlag(flags[peer]).load(cuda::memory_order_acquire), awaited)) {
    }
  }
  __syncthreads();
}

// All threads of a block call this last: the grid's last block tells all ranks.
__device__ inline void leave(int role) {
  if (gates == nullptr) return;
  __syncthreads();
  if (threadOfBlock() != 0) return;
  unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  BlockCount arrived(gates->arrived);
  if (arrived.fetch_add(1, cuda::memory_order_release) != blocks - 1) return;
  // One fence for all flags: it acquires what the other blocks released with their counts, too.
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system);
  arrived.store(0, cuda::memory_order_relaxed);  // for the next kernel
  const Phase phase = gates->phase + 1;
  gates->phase = phase;
  if (role & kProduces) gates->written = phase;
  if ((role & kConsumes) && (role & kGuarded)) gates->read = phase;
  for (int i = 0; i < gates->ranks; ++i) {
    int peer = (gates->rank + i) % gates->ranks;
    auto* flags = static_cast<Phase*>(ncclGetLsaPointer(gates->window, 0, peer));
    PhaseFlag(flags[gates->rank]).store(phase, cuda::memory_order_relaxed);
  }
}

// What this rank receives, as its consumer indexes it. A thread mostly stays within one message, so
// that each keeps where its last one lies.
template <typename Element>
struct Peers {
  Received at;
  unsigned ranks;
  mutable size_t first;  // elements from here on, `count` of them, lie at `message`
  mutable size_t count;
  mutable const Element* message;

  __device__ const Element& operator[](size_t i) const {
    if (i - first >= count) find(i);
    return message[i - first];
  }

  __device__ void find(size_t i) const {
    count = at.bytes / sizeof(Element);
    const unsigned each = static_cast<unsigned>(count);
    // Divisions of 64 bits take a device more than twice as long.
    const size_t number = i <= UINT32_MAX ? static_cast<unsigned>(i) / each : i / each;
    const size_t group = number < ranks ? 0 : number / ranks;
    const size_t offset = at.from + group * at.stride * at.bytes;
    const int peer = static_cast<int>(number - group * ranks);
    first = number * count;
    message = static_cast<const Element*>(ncclGetLsaPointer(at.window, offset, peer));
  }
};

// What belongs to a receive buffer, of the fused exchange of this number.
template <typename Element>
__device__ inline Peers<Element> receivedBy(const Element* buffer, int number) {
  if (gates == nullptr) return Peers<Element>{Received{}, 1, 0, SIZE_MAX, buffer};
  return Peers<Element>{gates->received[number], gates->ranks, 0, 0, nullptr};
}

__global__ void openGates(Gates* memory, ncclWindow_t window, int rank, int ranks) {
  gates = memory;
  gates->window = window;
  gates->rank = static_cast<uint16_t>(rank);
  gates->ranks = static_cast<uint16_t>(ranks);
}

// Keeps where the messages of an exchange lie, and stops where ranks do not have them alike:
// `table` is what the ranks told each other, and `group` how many of their exchanges lie before.
__global__ void keepReceived(int number, Received r, size_t group, const char* const* table) {
  Received& kept = gates->received[number];
  bool alike = kept.window == nullptr ||
               (kept.window == r.window && kept.from == r.from && kept.bytes == r.bytes);
  size_t offset = r.from + group * r.stride * r.bytes;
  for (int peer = 0; peer < gates->ranks; ++peer) {
    alike = alike && table[peer] == ncclGetLsaPointer(r.window, offset, peer);
  }
  if (!alike) __trap();
  kept = r;
}

// Of exchanges that ranks have told each other of: [receive buffer] = send buffer.
inline std::map<Place, Place>& arranged() {
  static std::map<Place, Place> only;
  return only;
}

// All ranks open their gates at the same exchange, the first one: a window with the flags, and then
// this rank's own part. Its size is no whole page, so that no windowMalloc takes it.
inline ncclResult_t prepareGates(cudaStream_t stream) {
  Session& s = session();
  size_t flags = roundUp(s.ranks * sizeof(Phase), 128), bytes = flags + sizeof(Gates);
  for (auto& entry : s.blocks) {
    if (entry.second.bytes == bytes && entry.second.window >= 0) return ncclSuccess;
  }
  if (state().sessions.size() > 1) {
    return fail(ncclInvalidUsage, "gates", "the process has several communicators");
  }
  void* memory = nullptr;
  DEVICE_COMM_NCCL(ncclMemAlloc(&memory, windowBytes(bytes)));
  DEVICE_COMM_CUDA(cudaMemset(memory, 0, windowBytes(bytes)));
  DEVICE_COMM_CUDA(cudaDeviceSynchronize());
  char* base = static_cast<char*>(memory);
  s.blocks[base] = Block{bytes, false, static_cast<int>(s.windows.size())};
  DEVICE_COMM_NCCL(registerWindow(base, windowBytes(bytes)));
  DEVICE_COMM_CUDA(cudaMemcpy(s.table, s.windows.data(), s.windows.size() * sizeof(ncclWindow_t),
                              cudaMemcpyHostToDevice));
  auto* own = reinterpret_cast<Gates*>(base + flags);
  openGates<<<1, 1, 0, stream>>>(own, s.windows.back(), s.rank, s.ranks);
  DEVICE_COMM_CUDA(cudaGetLastError());
  DEVICE_COMM_CUDA(cudaDeviceSynchronize());  // kernels of other streams look for gates, too
  arranged().clear();
  return ncclSuccess;
}

// An exchange between kernels with gates. The first one of each pair of buffers is a meeting, in
// which ranks tell each other where the data lies; from then on nothing is left to do here.
inline ncclResult_t fuse(int number, const void* send, size_t sends, void* recv, size_t bytes,
                         ncclComm_t comm, cudaStream_t stream) {
  if (bytes == 0) return ncclSuccess;
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  if (s.ranks == 1) return share(send, sends, recv, bytes, comm, stream);
  DEVICE_COMM_NCCL(prepareGates(stream));
  Place from = 0, to = 0;
  DEVICE_COMM_NCCL(locate(send, sends * bytes, "a fused send buffer", &from));
  DEVICE_COMM_NCCL(locate(recv, s.ranks * bytes, "a fused receive buffer", &to));
  auto entry = arranged().find(to);
  if (entry != arranged().end() && entry->second == from) return ncclSuccess;
  // Consumers get the buffer from its start on, and it starts where its memory does.
  size_t whole = bytes * s.ranks, group = offsetOf(to) / whole;
  size_t stride = sends > 1 ? s.ranks : 1, before = group * stride * bytes;
  if (bytes > UINT32_MAX || offsetOf(to) % whole != 0 || offsetOf(from) < before) {
    return fail(ncclInvalidUsage, "a fused exchange", "does not lie as these must lie");
  }
  arranged()[to] = from;
  DEVICE_COMM_NCCL(share(send, sends, recv, bytes, comm, stream));
  size_t first = offsetOf(from) - before + (sends > 1 ? s.rank * bytes : 0);
  Received r{s.windows[windowNumber(from)], first, static_cast<uint32_t>(bytes),
             static_cast<uint32_t>(stride)};
  keepReceived<<<1, 1, 0, stream>>>(number, r, group, partsAt(to, bytes));
  DEVICE_COMM_CUDA(cudaGetLastError());
  return ncclSuccess;
}
template <int number>
ncclResult_t fuseAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  return fuse(number, send, session().ranks, recv, count * bytesOf(type), comm, stream);
}
template <int number>
ncclResult_t fuseAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return fuse(number, send, 1, recv, count * bytesOf(type), comm, stream);
}
// The same, where kernels with gates also guard what is still being read.
template <int number>
ncclResult_t guardAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return fuseAlltoAll<number>(send, recv, count, type, comm, stream);
}
template <int number>
ncclResult_t guardAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                            ncclComm_t comm, cudaStream_t stream) {
  return fuseAllGather<number>(send, recv, count, type, comm, stream);
}
