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

#include "warploom/device.h"
// Order matters: the keywords are macros that the C++ library must not see.
#include "warploom/api.h"
#include "warploom/qualifiers.h"
#include "warploom/vector_types.h"
#include "warploom/atomics.h"
#include "warploom/intrinsics.h"
#include "warploom/warp.h"
