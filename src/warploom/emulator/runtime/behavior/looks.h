// Read-backs that nobody looks at: other ones, or stores of the host, take their place unread. What
// they bring is no result. Only a run that is made to find these out keeps track of them.
#pragma once

#include <cstddef>

namespace warploom {

extern bool g_looks_kept;
void keep_looks();  // from the start of the run on

// The read-back `number` has come to the host.
void begin_look(std::size_t number, const void* target, std::size_t bytes);
// The host, or what it calls, reads or writes its memory.
void host_looks_at(const void* p, std::size_t bytes, bool write);

}  // namespace warploom
