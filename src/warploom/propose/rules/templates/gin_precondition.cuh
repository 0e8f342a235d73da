  if (s.ranks > 1024) return fail(ncclInvalidUsage, "ranks", "more than a block's 1024 threads");
