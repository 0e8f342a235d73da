    if (op == ncclAvg) total = static_cast<Element>(total / world.nRanks);
