  DEVICE_COMM_NCCL(ncclDevCommCreate(known, &needs, &dev));
  return ncclTeamLsa(known).nRanks == dev.nRanks ? ncclSuccess : fail("all ranks must share memory; use GIN");
