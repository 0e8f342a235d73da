// Memory of devices that one process has given to others (cudaIpc*).
#pragma once

#include <cstdint>
#include <optional>

#include "memory/memory.h"

namespace warploom {

enum class Opened : uint8_t { Never, Now, Before };
// Has the process with this rank opened the allocation? `device`: for kernels that run there; -1:
// for copies, whatever device it opened it on. `closed`: where it closed it last.
Opened opened_by(const Allocation& allocation, int rank, int device, Frames* closed = nullptr);
// What says that a process goes on with memory that it has closed.
void report_closed(const Allocation& allocation, const char* what, const Frames& where,
                   const Frames& closed, std::optional<int> rank = {});
// Its process is about to free it: nobody may have it open, or use it.
void check_exported(const Allocation& allocation);

}  // namespace warploom
