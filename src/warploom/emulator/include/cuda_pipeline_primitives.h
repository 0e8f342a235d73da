// CUDA splits this header; here one holds all of it.
#pragma once

#include "cuda_pipeline.h"
