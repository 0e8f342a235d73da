// What headers of the C++ library do to memory of the library itself.
#pragma once

#include <link.h>

#include <cstdint>
#include <utility>

namespace warploom {

// Where code of headers notes the characters that it has converted: in one object of the library.
// Both are 0 where the program has no such library.
std::pair<uintptr_t, uintptr_t> character_cache(link_map& program);

// A program has been loaded: where its library's streams read and write characters.
void watch_streams(link_map& map);
// Virtual functions of those, which programs call by a table: (object, characters, count).
bool takes_characters(uintptr_t function);
void look_at_characters(uintptr_t function, uintptr_t place, uintptr_t count, const void* caller);

}  // namespace warploom
