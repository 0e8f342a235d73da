  int ranks = 0;
  DEVICE_COMM_NCCL(ncclCommCount(known, &ranks));
  if (ncclTeamLsa(known).nRanks != ranks) return fail("all ranks must share memory; use GIN");
