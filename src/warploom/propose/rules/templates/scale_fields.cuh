  bool scaled = false;  // each rank's elements are multiplied by a number of its own
  uint64_t scale = 0;   // the number's bits, or
  const void* scaleAt = nullptr;  // where it lies when the kernel runs
