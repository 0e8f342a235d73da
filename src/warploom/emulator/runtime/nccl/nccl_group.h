// ncclGroupStart and ncclGroupEnd.
#pragma once

#include <cstdint>

#include "nccl/nccl_collectives.h"
#include "nccl/nccl_objects.h"

namespace warploom::nccl {

// The program has parallel regions of OpenMP, which one thread runs here, in turn: who issues a
// call says nothing then of who would on a machine.
extern bool g_regions_in_turn;

bool in_group();
// Of the open group; a call outside of groups is a group of its own.
uint64_t number_of_group();
void queue_in_group(HostTask task);
void queue_in_group(std::unique_ptr<Task> task);
// Places where groups were opened and never closed by threads of `process`.
std::vector<Frames> open_groups(const Process& process);

}  // namespace warploom::nccl
