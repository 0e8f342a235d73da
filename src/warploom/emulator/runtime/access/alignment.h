// Accesses at addresses that are no multiple of what their type promises: a GPU traps there.
#pragma once

#include <cstddef>

namespace warploom {

// Reports an access of device code to memory of devices.
void report_misaligned(const void* p, std::size_t alignment, bool write);

}  // namespace warploom
