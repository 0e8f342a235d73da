// cuSOLVER for sparse matrices: its names; its calls are refused by name and line.
#pragma once

#include "cusolver_common.h"
#include "cusparse.h"

typedef struct cusolverSpContext* cusolverSpHandle_t;
typedef struct csrqrInfo* csrqrInfo_t;

WARPLOOM_SOLVER_REFUSED(cusolverSpCreate)
WARPLOOM_SOLVER_REFUSED(cusolverSpDestroy)
WARPLOOM_SOLVER_REFUSED(cusolverSpSetStream)
WARPLOOM_SOLVER_REFUSED(cusolverSpScsrlsvqr)
WARPLOOM_SOLVER_REFUSED(cusolverSpDcsrlsvqr)
WARPLOOM_SOLVER_REFUSED(cusolverSpScsrlsvchol)
WARPLOOM_SOLVER_REFUSED(cusolverSpDcsrlsvchol)
WARPLOOM_SOLVER_REFUSED(cusolverSpScsrlsvluHost)
WARPLOOM_SOLVER_REFUSED(cusolverSpDcsrlsvluHost)
WARPLOOM_SOLVER_REFUSED(cusolverSpXcsrissymHost)
WARPLOOM_SOLVER_REFUSED(cusolverSpXcsrsymrcmHost)
