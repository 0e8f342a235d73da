// What Open MPI adds: whether it takes memory of the device. Emulated MPI does.
#pragma once

#define MPIX_CUDA_AWARE_SUPPORT 1

static inline int MPIX_Query_cuda_support() { return 1; }
