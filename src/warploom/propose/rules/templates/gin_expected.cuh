  int expected = 0;               // by `expect`, for the kernel after the next
  int due = 0;                    // offered by the latest kernel, for the next
  Exchange next[kMaxBatch];
  Place dueAt[kMaxBatch];
