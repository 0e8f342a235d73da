// Functions of the host that a stream runs: what they may not do, and what they are given.
#pragma once

#include <string_view>

#include "schedule/fiber.h"

namespace warploom {

// Is `call` one of CUDA or NCCL that such a function makes? Then that is reported; on a machine the
// call fails (cudaErrorNotPermitted) or waits for ever.
bool refused_in_host_function(const char* call);

// The argument of such a function, which `call` queues: what the number stands for. The block of
// the host's heap that it lies in must be there until the function begins.
int watch_argument(const void* argument, const char* call, const Frames& where);
void end_argument(int watch);
// The function of a graph's node begins.
void check_argument_lives(const void* argument, const Frames& where, int rank);
bool arguments_pending();
// The running host thread frees a block of its heap.
void check_arguments_in(const void* block, std::size_t bytes);

}  // namespace warploom
