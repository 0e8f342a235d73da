// Plain reads of host threads that race with atomics of others. They are no defect where a
// compare-and-swap of the same thread with what was read follows, which finds out whether the
// value was an old one: CUDA programs build their own atomics so on both sides (see also
// GpuThread::has_suspect).
#pragma once

#include <cstdint>

#include "order/history.h"
#include "order/race.h"

namespace warploom {

// Host code reads plainly what `write` has changed atomically. False: the actor is no host thread
// at its present tick.
bool suspect_host_read(const Record& write, const Actor& read, const void* address, unsigned mask);
// The other order: an atomic changes what host code has read. False: it had its next tick since.
bool suspect_earlier_read(const Record& read, const Actor& write, const void* address,
                          unsigned mask);
// The running host thread does a compare-and-swap.
void check_host_suspects(const void* address, unsigned bytes, const uint64_t (&expected)[2]);
void settle_host_suspects();      // the running host thread has its next tick
void settle_all_host_suspects();  // the run ends

}  // namespace warploom
