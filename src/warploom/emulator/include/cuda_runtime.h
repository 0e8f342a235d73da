// Stands in for CUDA's own header when a program is built for the emulator.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

// After the C++ library: CUDA's keywords are macros that it must not see.
#include "warploom/api.h"
#include "warploom/atomics.h"
#include "warploom/device.h"
#include "warploom/intrinsics.h"
#include "warploom/qualifiers.h"
#include "warploom/vector_types.h"
#include "warploom/warp.h"
