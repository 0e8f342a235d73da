// CUDA 12 and 13 spell this header differently.
#pragma once

#include "cuda_profiler_api.h"
