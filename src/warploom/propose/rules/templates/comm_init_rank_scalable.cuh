
inline ncclResult_t commInitRankScalable(ncclComm_t* comm, int ranks, int rank, int count,
                                         ncclUniqueId* ids, ncclConfig_t* config) {
  DEVICE_COMM_NCCL(enterNccl());
  return adoptNew(ncclCommInitRankScalable(comm, ranks, rank, count, ids, config), comm);
}
