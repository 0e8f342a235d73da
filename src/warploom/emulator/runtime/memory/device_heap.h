// The heap that malloc and new in device code take from.
#pragma once

#include <cstddef>

namespace warploom {

std::size_t heap_limit();  // cudaLimitMallocHeapSize

}  // namespace warploom
