    if (op == ncclAvg) {
      for (Element& item : total.item) item = static_cast<Element>(item / comm.nRanks);
    }
