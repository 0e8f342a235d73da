// What headers of the C++ library do to memory of the library itself.
#pragma once

#include <link.h>

#include <cstdint>
#include <utility>

namespace warploom {

// Where code of headers notes the characters that it has converted: in one object of the library.
// Both are 0 where the program has no such library.
std::pair<uintptr_t, uintptr_t> character_cache(link_map& program);

}  // namespace warploom
