// The place of this header in CUDA 11 and before.
#pragma once

#include "nvToolsExt.h"
