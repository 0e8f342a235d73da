// The number of an operator that scales: its bits, or where it lies.
struct Scale {
  uint64_t bits = 0;
  const void* at = nullptr;
};

