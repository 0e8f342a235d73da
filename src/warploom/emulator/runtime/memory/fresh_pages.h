// Large fresh memory costs nothing until somebody writes it: all of it shows the same few pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom {

// Gives the whole pieces of a large range the contents of fresh memory, and says where they lie:
// [first, last), empty where the range is small or this system cannot do it.
struct FreshPieces {
  uintptr_t first, last;
};
FreshPieces map_fresh(uintptr_t start, std::size_t bytes);

// The range is overwritten as a whole next: pages of its own come cheaper at once than one by one.
void will_overwrite(const void* start, std::size_t bytes);

}  // namespace warploom
