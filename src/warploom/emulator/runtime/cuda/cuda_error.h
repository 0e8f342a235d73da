// How emulated CUDA calls return errors.
#pragma once

#include "../../include/warploom/api_types.h"
#include "machine/world.h"

namespace warploom {

// Remembers an error for cudaGetLastError, and returns it.
cudaError_t cuda_fail(cudaError_t error);

}  // namespace warploom
