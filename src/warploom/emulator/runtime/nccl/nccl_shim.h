// The NCCL declarations that programs see, without the rest of CUDA's keywords.
#pragma once

#define WARPLOOM_RUNTIME 1
#include "../../include/warploom/nccl_runtime.h"
