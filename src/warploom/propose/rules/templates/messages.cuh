
// ---- device: send and receive ----------------------------------------------------------------

struct Message {
  Place place;
  size_t bytes;
};

// The messages of a group to one peer, or from one, in the order of their calls; of each the part
// number `part` of `parts`, which is one block's work.
struct Lane {
  int peer;
  int receives;
  int part, parts;
  int first;  // of the group's messages
  int count;
};
