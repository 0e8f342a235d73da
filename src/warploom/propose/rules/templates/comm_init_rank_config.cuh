
inline ncclResult_t commInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                       ncclConfig_t* config) {
  DEVICE_COMM_NCCL(enterNccl());
  return adoptNew(ncclCommInitRankConfig(comm, ranks, id, rank, config), comm);
}
