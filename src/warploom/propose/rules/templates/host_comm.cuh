
// ---- host: the communicator ------------------------------------------------------------------

inline ncclResult_t adopt(ncclComm_t comm) {
  Session& s = session();
  if (s.comm != nullptr) {
    return fail(ncclInvalidUsage, "communicator", "this process has one already");
  }
  DEVICE_COMM_NCCL(ncclCommCount(comm, &s.ranks));
  DEVICE_COMM_NCCL(ncclCommUserRank(comm, &s.rank));
  s.comm = comm;
  return ncclSuccess;
}

// In place of ncclCommInitRank and ncclCommInitRankConfig.
inline ncclResult_t commInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  ncclResult_t status = ncclCommInitRank(comm, ranks, id, rank);
  return status == ncclSuccess ? adopt(*comm) : status;
}
inline ncclResult_t commInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                       ncclConfig_t* config) {
  ncclResult_t status = ncclCommInitRankConfig(comm, ranks, id, rank, config);
  return status == ncclSuccess ? adopt(*comm) : status;
}

// Gives back all windows, and the memory that the program has freed.
inline ncclResult_t closeWindows() {
  Session& s = session();
  DEVICE_COMM_CUDA(cudaDeviceSynchronize());
  for (ncclWindow_t window : s.windows) DEVICE_COMM_NCCL(ncclCommWindowDeregister(s.comm, window));
  s.windows.clear();
  for (auto entry = s.blocks.begin(); entry != s.blocks.end();) {
    entry->second.window = -1;
    if (!entry->second.used) {
      DEVICE_COMM_NCCL(ncclMemFree(entry->first));
      entry = s.blocks.erase(entry);
    } else {
      ++entry;
    }
  }
  if (s.open) {
    DEVICE_COMM_NCCL(ncclDevCommDestroy(s.comm, &s.wire.dev));
    DEVICE_COMM_NCCL(ncclMemFree(s.control));
    DEVICE_COMM_CUDA(cudaFree(s.table));
    DEVICE_COMM_CUDA(cudaFree(s.plan));
    DEVICE_COMM_CUDA(cudaFreeHost(s.agreed));
    DEVICE_COMM_CUDA(cudaEventDestroy(s.last));
  }
  std::map<char*, Block> blocks;
  blocks.swap(s.blocks);
  s = Session();
  s.blocks.swap(blocks);
  return ncclSuccess;
}

// In place of ncclCommFinalize and ncclCommDestroy.
inline ncclResult_t commFinalize(ncclComm_t comm) {
  if (comm == session().comm) DEVICE_COMM_NCCL(closeWindows());
  return ncclCommFinalize(comm);
}
inline ncclResult_t commDestroy(ncclComm_t comm) {
  if (comm != nullptr && comm == session().comm) DEVICE_COMM_NCCL(closeWindows());
  return ncclCommDestroy(comm);
}
