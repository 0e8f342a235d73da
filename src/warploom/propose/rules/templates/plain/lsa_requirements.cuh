  needs.lsaBarrierCount = kBlocks;
