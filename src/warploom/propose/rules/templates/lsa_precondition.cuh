  if (ncclTeamLsa(s.comm).nRanks != s.ranks) {
    return fail(ncclInvalidUsage, "LSA", "all ranks must share memory (one LSA team); use GIN");
  }
