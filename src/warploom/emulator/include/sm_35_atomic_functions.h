// CUDA splits its runtime headers; here one header holds all of it.
#pragma once

#include "cuda_runtime.h"
