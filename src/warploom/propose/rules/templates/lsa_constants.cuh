constexpr int kBlocks = 4;     // of a collective's kernel; each has its own barrier and mailbox
constexpr int kThreads = 256;  // of each block
