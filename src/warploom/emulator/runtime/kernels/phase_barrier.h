// Barriers in memory: what copies that complete there need of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../include/warploom/async.h"
#include "kernels/async_lane.h"
#include "schedule/fiber.h"

namespace warploom {

// The lane of the copies that complete at a barrier. Ends the run where there is none.
AsyncLane& async_lane_at(PhaseBarrier* barrier, const char* what);
// How often it has been started: what was issued before counts no more.
uint32_t starts_of(const PhaseBarrier* barrier);
// A copy of `rank` has landed, issued at `where`. Nobody need be running.
void bytes_landed(PhaseBarrier* barrier, uint32_t starts, unsigned bytes, const Frames& where,
                  int rank);
// Arrives as arrive_at does, and holds the phase open until copies have landed. Returns starts_of.
uint32_t hold_for_copies(PhaseBarrier* barrier, unsigned count, Scope scope);
// They have; who waits for the phase knows `copies`.
void copies_landed(PhaseBarrier* barrier, uint32_t starts, const Clock& copies, const Frames& where,
                   int rank);
// The barriers in this memory are gone: its block has ended.
void forget_barriers(uintptr_t start, std::size_t bytes);

}  // namespace warploom
