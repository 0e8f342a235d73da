
// ---- device: send and receive ----------------------------------------------------------------

struct Message {
  Place place;
  size_t bytes;
};

// The messages of a group to one peer, or from one, in the order of their calls.
struct Lane {
  int peer;
  int receives;
  int first;  // of the group's messages
  int count;
};
