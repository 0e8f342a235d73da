// Waits for a GPU that leave the driver free for the network's copies.
#pragma once

#include <cstddef>

namespace warploom {

// Some calls wait in the CUDA driver, which lets no other thread of the process in meanwhile. A
// kernel that waits for our network, whose copies need the driver, would then wait for ever: the
// call is made only when what it waits for has ended. Without our network these return at once.

// For an asynchronous copy to memory that is not pinned.
void wait_before_copy(void* to, void* stream);
// For a call that waits for the default stream, and so for all streams that take turns with it.
void wait_for_default_stream();
// For a call that waits for the whole device.
void wait_for_device();

}  // namespace warploom
