
// ---- direct reads: consumers read from where the data lies -----------------------------------

// What this rank would receive, as its consumer indexes it: message i lies where table[i] says.
template <typename Element>
struct View {
  const char* const* table;
  size_t each;           // elements of a message
  const Element* plain;  // the buffer itself, where one rank has everything

  __device__ const Element& operator[](size_t i) const {
    if (table == nullptr) return plain[i];
    return reinterpret_cast<const Element*>(table[i / each])[i % each];
  }
};

// Where the messages of a receive buffer lie, each of `bytes`; the table is on the device.
struct Parts {
  const char** table;
  size_t bytes;
};

inline Parts& partsOf(Place place) {  // of the communicator's window that it lies in
  static std::map<std::pair<const Session*, size_t>, Parts> only;
  return only[{&session(), windowNumber(place)}];
}

// Where the table says what belongs to `place`, of messages of `bytes`; null if that is no message.
inline const char** partsAt(Place place, size_t bytes) {
  size_t window = windowNumber(place), whole = 0;
  Parts& parts = partsOf(place);
  if (parts.table == nullptr) {
    for (auto& entry : session().blocks) {
      if (entry.second.window == static_cast<int>(window)) whole = entry.second.bytes;
    }
    void* memory = nullptr;
    size_t entries = whole / bytes + session().ranks;
    if (cudaMalloc(&memory, entries * sizeof(char*)) != cudaSuccess) return nullptr;
    parts = Parts{static_cast<const char**>(memory), bytes};
  }
  bool fits = parts.bytes == bytes && offsetOf(place) % bytes == 0;
  return fits ? parts.table + offsetOf(place) / bytes : nullptr;
}

// The view of a receive buffer, from `buffer` on, whose exchange was shared.
template <typename Element>
View<Element> viewOf(const Element* buffer) {
  Place place = 0;
  View<Element> view{nullptr, 1, buffer};
  if (session().ranks == 1) return view;
  if (locate(buffer, sizeof(Element), "a view's buffer", &place) != ncclSuccess) return view;
  const Parts& parts = partsOf(place);
  if (parts.table == nullptr) return view;
  return View<Element>{parts.table + offsetOf(place) / parts.bytes, parts.bytes / sizeof(Element),
                       buffer};
}

// Nothing is copied: ranks tell each other where the data lies. A sender must not write there again
// before its receivers have come to a later communication.
inline ncclResult_t share(const void* send, size_t sends, void* recv, size_t bytes,
                          ncclComm_t comm, cudaStream_t stream) {
  if (bytes == 0) return ncclSuccess;
  DEVICE_COMM_NCCL(begin(comm));
  Session& s = session();
  size_t stride = sends > 1 ? bytes : 0;
  if (s.ranks == 1) return copyOwn(send, recv, bytes, stream);
  Exchange x{0, 0, stride, bytes, bytes, kEveryone, kEveryone};
  DEVICE_COMM_NCCL(locate(send, sends * bytes, "a shared send buffer", &x.send));
  DEVICE_COMM_NCCL(locate(recv, s.ranks * bytes, "a shared receive buffer", &x.recv));
  x.parts = partsAt(x.recv, bytes);
  if (x.parts == nullptr) return fail(ncclInvalidUsage, "direct reads", "messages differ in size");
  return enqueue(x, stream);
}
inline ncclResult_t shareAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream) {
  DEVICE_COMM_NCCL(begin(comm));
  return share(send, session().ranks, recv, count * bytesOf(type), comm, stream);
}
inline ncclResult_t shareAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                                   ncclComm_t comm, cudaStream_t stream) {
  return share(send, 1, recv, count * bytesOf(type), comm, stream);
}

// All ranks have come this far on their streams: what they read directly may be written again.
inline ncclResult_t meet(cudaStream_t stream) {
  Session& s = session();
  if (s.ranks == 1) return ncclSuccess;
  Exchanges none{};
  ncclResult_t status = follow(stream);
  if (status == ncclSuccess) status = launchExchangeKernel(s.wire, none, s.ranks, stream);
  return status == ncclSuccess ? end(stream) : status;
}
