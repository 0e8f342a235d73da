// What Open MPI adds: whether it takes memory of the device. Enough to compile, like mpi.h.
#pragma once

#define MPIX_CUDA_AWARE_SUPPORT 1

#ifdef __cplusplus
extern "C" {
#endif

int MPIX_Query_cuda_support(void);

#ifdef __cplusplus
}
#endif
