// What lies beside the program is shown to it by links, and cannot be written there. What it
// writes is its own: it gets a copy then, which is thrown away with all else that it wrote.
#pragma once

namespace warploom {

// `path` could not be written, as it lies on what is read only. True: it is the program's own now.
bool copy_from_beside(const char* path);

}  // namespace warploom
