
// ---- device: send and receive ----------------------------------------------------------------

struct Message {
  Place place;
  size_t bytes;
  int parts;  // that it is divided into: the same on both sides, whatever is in their groups
};

// The messages of a group to one peer, or from one, in the order of their calls. Of each that has so
// many parts, the part number `part` is one block's work.
struct Lane {
  int peer;
  int receives;
  int part;
  int first;  // of the group's messages
  int count;
};

constexpr int kFew = 32;  // lanes, and messages, that are a kernel's arguments

// What a kernel has to do. The plan of a small group is the kernel's argument, so that no copy goes
// before the kernel; that of another lies at `lanes` and `messages`.
struct Plan {
  Lane fewLanes[kFew];
  Message fewMessages[kFew];
  const Lane* lanes;  // null where the arguments have all
  const Message* messages;

  __device__ Lane lane(int i) const { return lanes == nullptr ? fewLanes[i] : lanes[i]; }
  __device__ Message message(int i) const {
    return messages == nullptr ? fewMessages[i] : messages[i];
  }
};
