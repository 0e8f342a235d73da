constexpr int kMaxBlocks = 64;  // of a collective's kernel: so many barriers and mailboxes there are
[[maybe_unused]] constexpr int kMaxParts = 16;  // of a message: so many boxes each pair has
