
inline Group& group() { return session().group; }

// A rank's messages to itself: the first send meets the first receive, and so on.
inline ncclResult_t copyToSelf(const std::vector<Pending>& pending, cudaStream_t stream) {
  std::vector<const Pending*> sends, receives;
  for (const Pending& p : pending) {
    if (p.peer == session().rank) (p.receives ? receives : sends).push_back(&p);
  }
  if (sends.size() != receives.size()) {
    return fail(ncclInvalidUsage, "group", "a rank's send to itself needs its receive in the group");
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    if (sends[i]->bytes != receives[i]->bytes) {
      return fail(ncclInvalidArgument, "group", "a send and its receive differ in size");
    }
    DEVICE_COMM_NCCL(copyOwn(sends[i]->buffer, receives[i]->buffer, sends[i]->bytes, stream));
  }
  return ncclSuccess;
}

// Divides each lane into as many parts as its longest message wants.
inline void divideLanes() {
  Group& g = group();
  std::vector<Lane> whole;
  whole.swap(g.lanes);
  for (Lane lane : whole) {
    int parts = 0;
    for (int i = lane.first; i < lane.first + lane.count; ++i) {
      parts = std::max(parts, g.messages[i].parts);
    }
    for (lane.part = 0; lane.part < parts; ++lane.part) g.lanes.push_back(lane);
  }
}

// Sorts the messages to and from other ranks into lanes.
inline ncclResult_t sortIntoLanes(std::vector<Pending>& pending) {
  Group& g = group();
  g.lanes.clear();
  g.messages.clear();
  auto laneOf = [](const Pending& p) { return 2 * p.peer + p.receives; };
  std::stable_sort(pending.begin(), pending.end(), [&](const Pending& a, const Pending& b) {
    return laneOf(a) < laneOf(b);
  });
  for (const Pending& p : pending) {
    if (p.peer == session().rank || p.bytes == 0) continue;
    Message message{0, p.bytes, partsFor(p.bytes)};
    DEVICE_COMM_NCCL(locate(p.buffer, p.bytes, p.receives ? "Recv's buffer" : "Send's buffer",
                         &message.place));
    bool same = !g.lanes.empty() && g.lanes.back().peer == p.peer &&
                g.lanes.back().receives == p.receives;
    if (!same) {
      g.lanes.push_back(Lane{p.peer, p.receives, 0, static_cast<int>(g.messages.size()), 0});
    }
    ++g.lanes.back().count;
    g.messages.push_back(message);
  }
  divideLanes();
  return ncclSuccess;
}

@PLAN@// Places the plan of a large group where the kernel finds it.
inline ncclResult_t placePlan(cudaStream_t stream, Plan* plan) {
  Session& s = session();
  Group& g = group();
  size_t laneBytes = roundUp(g.lanes.size() * sizeof(Lane), sizeof(Message));
  size_t bytes = laneBytes + g.messages.size() * sizeof(Message);
@WRITE_PLAN@  plan->lanes = reinterpret_cast<const Lane*>(@PLAN_NAME@);
  plan->messages = reinterpret_cast<const Message*>(@PLAN_NAME@ + laneBytes);
  return ncclSuccess;
}

inline ncclResult_t launchLanes(cudaStream_t stream) {
  Session& s = session();
  Group& g = group();
  if (g.lanes.empty()) return ncclSuccess;
  Plan plan{};
  if (g.lanes.size() <= kFew && g.messages.size() <= kFew) {
    std::copy(g.lanes.begin(), g.lanes.end(), plan.fewLanes);
    std::copy(g.messages.begin(), g.messages.end(), plan.fewMessages);
  } else {
    DEVICE_COMM_NCCL(placePlan(stream, &plan));
  }
  messageKernel<<<static_cast<unsigned>(g.lanes.size()), @MESSAGE_THREADS@, 0, stream>>>(s.wire, plan);
  DEVICE_COMM_CUDA(cudaPeekAtLastError());
  return ncclSuccess;
}

// Launches all messages of the group as one kernel on the first message's stream. Other streams
// that take part wait for it, and it for them.
inline ncclResult_t launchMessages() {
  std::vector<Pending> pending;
  pending.swap(group().pending);
  if (pending.empty()) return ncclSuccess;
  cudaStream_t stream = pending[0].stream;
  std::vector<cudaStream_t> others;
  for (const Pending& p : pending) {
    bool known = p.stream == stream ||
                 std::find(others.begin(), others.end(), p.stream) != others.end();
    if (!known) others.push_back(p.stream);
  }
@ON_SESSION@  DEVICE_COMM_NCCL(follow(stream));
  for (cudaStream_t other : others) {
    cudaEvent_t ready;
    DEVICE_COMM_CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    DEVICE_COMM_CUDA(cudaEventRecord(ready, other));
    DEVICE_COMM_CUDA(cudaStreamWaitEvent(stream, ready, 0));
    DEVICE_COMM_CUDA(cudaEventDestroy(ready));
  }
  DEVICE_COMM_NCCL(copyToSelf(pending, stream));
  DEVICE_COMM_NCCL(sortIntoLanes(pending));
  DEVICE_COMM_NCCL(launchLanes(stream));
  DEVICE_COMM_NCCL(end(stream));
  if (kLazyOrder && !others.empty()) DEVICE_COMM_CUDA(cudaEventRecord(session().last, stream));
  for (cudaStream_t other : others) DEVICE_COMM_CUDA(cudaStreamWaitEvent(other, session().last, 0));
  return ncclSuccess;
}

inline ncclResult_t post(const Pending& message, ncclComm_t comm) {
  DEVICE_COMM_NCCL(begin(comm));
  if (message.peer < 0 || message.peer >= session().ranks) {
    return fail(ncclInvalidArgument, "peer", "is not a rank of the communicator");
  }
  group().pending.push_back(message);
  return calls().depth == 0 ? launchMessages() : ncclSuccess;
}
inline ncclResult_t launchSend(const void* buffer, size_t count, ncclDataType_t type, int peer,
                               ncclComm_t comm, cudaStream_t stream) {
  char* from = static_cast<char*>(const_cast<void*>(buffer));
  return post(Pending{from, count * bytesOf(type), peer, false, stream}, comm);
}
inline ncclResult_t launchRecv(void* buffer, size_t count, ncclDataType_t type, int peer,
                               ncclComm_t comm, cudaStream_t stream) {
  return post(Pending{static_cast<char*>(buffer), count * bytesOf(type), peer, true, stream}, comm);
}
