
inline ncclResult_t commInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclResult_t status = ncclCommInitAll(comms, count, devices);
  int made = makingNow();
  for (int i = 0; status == ncclSuccess && i < count; ++i) adopt(comms[i], made);
  return status;
}
