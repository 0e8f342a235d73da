  bool offered;  // the kernel before has offered their places
  int ahead;     // how many places to offer for the next kernel
  Exchange next[kMaxBatch];
