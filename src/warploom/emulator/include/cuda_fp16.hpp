// The C++ interface of half precision lies in one header here.
#pragma once

#include "cuda_fp16.h"
