// The place of this header in CUDA 11 and before.
#pragma once

#include "nvtx3/nvToolsExt.h"
