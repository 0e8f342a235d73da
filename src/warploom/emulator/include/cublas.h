// cuBLAS by its first interface, without handles.
#pragma once

#include "cuda_runtime.h"
#include "warploom/libraries/blas_legacy.h"
