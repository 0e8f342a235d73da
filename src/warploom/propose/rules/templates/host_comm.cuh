
// ---- host: communicators ---------------------------------------------------------------------

// Calls that make or end a communicator are NCCL's: what is grouped of them needs NCCL's own group.
inline ncclResult_t enterNccl() {
  if (calls().depth == 0 || calls().native) return ncclSuccess;
  calls().native = true;
  return ncclGroupStart();
}

// What is known of a communicator; null where nothing is.
inline Session* find(ncclComm_t comm) {
@LOCK@  for (Session& s : state().sessions) {
    if (s.comm == comm) return &s;
  }
  return nullptr;
}

inline Session& adopt(ncclComm_t comm, int made) {
@LOCK@  state().sessions.emplace_back();
  Session& s = state().sessions.back();
  s.comm = comm;
  s.maker = &calls();
  s.made = made;
  return s;
}

// The number of communicators that are made now: one for all of an open group.
inline int makingNow() {
@LOCK@  if (calls().depth == 0) return ++state().made;
  if (calls().made == 0) calls().made = ++state().made;
  return calls().made;
}
inline ncclResult_t adoptNew(ncclResult_t status, ncclComm_t* comm) {
  bool good = status == ncclSuccess || status == ncclInProgress;
  if (good && *comm != nullptr) adopt(*comm, makingNow());
  return status;
}
@CREATIONS@@LEAVE_STEPS@
// Gives back the communicator's windows, and the memory that the program has freed.
inline ncclResult_t closeWindows(ncclComm_t comm) {
  Session* known = find(comm);
  if (known == nullptr) return ncclSuccess;
  Session& s = *known;
  calls().at = known;
  DEVICE_COMM_NCCL(identify(s));
@ON_DEVICE@  DEVICE_COMM_CUDA(cudaDeviceSynchronize());
@LEAVE@  for (ncclWindow_t window : s.windows) DEVICE_COMM_NCCL(ncclCommWindowDeregister(comm, window));
  if (s.open) {
    DEVICE_COMM_NCCL(ncclDevCommDestroy(comm, &s.wire.dev));
    DEVICE_COMM_NCCL(ncclMemFree(s.control));
    DEVICE_COMM_CUDA(cudaFree(s.table));
    DEVICE_COMM_CUDA(cudaFree(s.plan));
@FREE_PLANS@    DEVICE_COMM_CUDA(cudaFreeHost(s.agreed));
    DEVICE_COMM_CUDA(cudaEventDestroy(s.last));
  }
@LOCK@  for (auto& [start, block] : s.blocks) {
    if (block.shared) {
      Memory& memory = state().memory[start];
      if (--memory.windows > 0 || memory.used) continue;
      state().memory.erase(start);
    }
    DEVICE_COMM_NCCL(ncclMemFree(start));
  }
  calls().at = nullptr;
  state().sessions.remove_if([&](const Session& other) { return &other == known; });
  return ncclSuccess;
}

// In place of ncclCommFinalize and ncclCommDestroy.
inline ncclResult_t commFinalize(ncclComm_t comm) {
  DEVICE_COMM_NCCL(closeWindows(comm));
  DEVICE_COMM_NCCL(enterNccl());
  return ncclCommFinalize(comm);
}
inline ncclResult_t commDestroy(ncclComm_t comm) {
  DEVICE_COMM_NCCL(closeWindows(comm));
  DEVICE_COMM_NCCL(enterNccl());
  return ncclCommDestroy(comm);
}
