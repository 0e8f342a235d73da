
// ---- device: short all-reduces -----------------------------------------------------------------

constexpr size_t kPushBytes = 131072;  // all-reduces of up to so many bytes are pushed
constexpr size_t kPushBlock = 4096;    // of one: a block for each of so many bytes

// How many pushed all-reduces there have been, as the block of a rank tells its peers.
using PushFlag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// What lies in the memory of `at` for what rank `from` pushes: a flag for each block, then two
// rooms, used in turn: who is done with one all-reduce may push the next while others still read.
constexpr size_t kPushed = kMaxBlocks * sizeof(uint32_t) + 2 * kPushBytes;
__device__ inline char* pushedBy(const Wire& wire, int at, int from) {
  return static_cast<char*>(pointerAt(wire, at, wire.pushed)) + from * kPushed;
}
__device__ inline PushFlag pushFlag(const Wire& wire, int at, int from) {
  return PushFlag(reinterpret_cast<uint32_t*>(pushedBy(wire, at, from))[blockIdx.x]);
}
__device__ inline bool isEarlier(PushFlag flag, uint32_t push) {
  return static_cast<int32_t>(flag.load(cuda::memory_order_acquire) - push) < 0;
}
__device__ inline char* pushRoom(const Wire& wire, int at, int from) {
  return pushedBy(wire, at, from) + kMaxBlocks * sizeof(uint32_t) + wire.pushes % 2 * kPushBytes;
}

// Every rank hands its elements to all others and adds up what it gets. Each block does a part, and
// waits for nothing but the same block of the others.
template <typename Element>
__device__ void reducePushed(const Wire& wire, const Reduction& r) {
  const int ranks = wire.dev.nRanks, me = wire.dev.rank;
  const size_t part = roundUp((r.total + gridDim.x - 1) / gridDim.x, sizeof(uint4));
  const size_t first = smaller(blockIdx.x * part, r.total), count = smaller(part, r.total - first);
  const size_t offset = first * sizeof(Element);
  auto in = static_cast<const char*>(pointerAt(wire, me, r.send)) + offset;
  auto out = static_cast<char*>(pointerAt(wire, me, r.recv)) + offset;
  for (int k = 1; k < ranks; ++k) {
    int peer = (me + k) % ranks;  // so that not all ranks write to the same one
    copyBytes(wholeBlock(), pushRoom(wire, peer, me) + offset, in, count * sizeof(Element));
  }
  __syncthreads();
  for (int peer = threadIdx.x; peer < ranks; peer += blockDim.x) {
    if (peer != me) pushFlag(wire, peer, me).store(wire.pushes, cuda::memory_order_release);
  }
  for (int peer = threadIdx.x; peer < ranks; peer += blockDim.x) {
    while (peer != me && isEarlier(pushFlag(wire, me, peer), wire.pushes)) {
    }
  }
  __syncthreads();
  auto load = [&](int rank) -> const char* {
    return rank == me ? in : pushRoom(wire, me, rank) + offset;
  };
  auto store = [&](size_t i, auto word) { reinterpret_cast<decltype(word)*>(out)[i] = word; };
  auto lowBits = reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out) |
                 reinterpret_cast<uintptr_t>(pushRoom(wire, me, 0));
  bool wide = lowBits % sizeof(uint4) == 0;
  reduceAs<Element>(r.op, ranks, threadIdx.x, count, blockDim.x, wide, load, store);
}

__global__ void pushKernel(Wire wire, Reduction r) {
  switch (r.type) {
@CASES@
    default:
      break;  // the launcher has refused other types
  }
}

inline bool isPushed(const Reduction& r) {
  return r.share && r.total * r.elementBytes <= kPushBytes;
}

inline ncclResult_t launchPushKernel(Wire& wire, const Reduction& r, cudaStream_t stream) {
  size_t blocks = (r.total * r.elementBytes + kPushBlock - 1) / kPushBlock;
  ++wire.pushes;
  pushKernel<<<static_cast<unsigned>(smaller(blocks, kMaxBlocks)), kThreads, 0, stream>>>(wire, r);
  return cudaPeekAtLastError() == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
