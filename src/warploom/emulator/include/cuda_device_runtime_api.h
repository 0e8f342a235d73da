// What CUDA's runtime offers device code is declared by the one header; launches of kernels from
// kernels are not emulated.
#pragma once

#include "cuda_runtime.h"
