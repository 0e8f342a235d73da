  needs.lsaBarrierCount = @BARRIERS@;
