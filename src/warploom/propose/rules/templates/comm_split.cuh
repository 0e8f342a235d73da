
inline ncclResult_t commSplit(ncclComm_t comm, int color, int key, ncclComm_t* part,
                              ncclConfig_t* config) {
  DEVICE_COMM_NCCL(enterNccl());
  return adoptNew(ncclCommSplit(comm, color, key, part, config), part);
}
