// cuBLAS, as far as it is emulated: see docs/emulator.md.
#pragma once

#include "cuda_runtime.h"
#include "warploom/libraries/blas_calls.h"
