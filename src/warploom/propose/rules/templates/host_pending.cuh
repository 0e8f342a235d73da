// A send or receive that waits for the end of its group.
struct Pending {
  char* buffer;
  size_t bytes;
  int peer;
  bool receives;
  cudaStream_t stream;
};

// The messages of the group that is open, and of the latest one in the kernel's order.
struct Group {
  std::vector<Pending> pending;
  std::vector<Lane> lanes;
  std::vector<Message> messages;
};

