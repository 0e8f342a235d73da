  needs.lsaBarrierCount = kMaxBlocks;
