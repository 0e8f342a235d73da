
inline ncclResult_t commInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  DEVICE_COMM_NCCL(enterNccl());
  return adoptNew(ncclCommInitRank(comm, ranks, id, rank), comm);
}
