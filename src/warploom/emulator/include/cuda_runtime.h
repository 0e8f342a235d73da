// Stands in for CUDA's own header when a program is built for the emulator.
#pragma once

#include "library_types.h"

#ifndef __cplusplus
#include <limits.h>
#include <stddef.h>

#include "warploom/api.h"
// Headers for C and CUDA alike declare kernels, of which C sees plain functions, as with CUDA's
// own.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#else
// C++20's lerp is a global function as well, which CUDA's C++17 programs define themselves.
#if !defined(_GLIBCXX_CMATH) && !defined(_LIBCPP_CMATH)
#define lerp warploom_lerp
#include <math.h>
#include <cmath>
#undef lerp
namespace std {
template <class _WA, class _WB, class _WC>
constexpr auto lerp(_WA _Wa, _WB _Wb, _WC _Wt) {
  return warploom_lerp(_Wa, _Wb, _Wt);
}
}  // namespace std
#endif

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

// After the C++ library: CUDA's keywords are macros that it must not see.
#include "warploom/api.h"
#include "warploom/async.h"
#include "warploom/atomics.h"
#include "warploom/device.h"
#include "warploom/intrinsics.h"
#include "warploom/nv_atomic.h"
#include "warploom/ptx.h"
#include "warploom/qualifiers.h"
#include "warploom/textures.h"
#include "warploom/vector_types.h"
#include "warploom/warp.h"
#endif
