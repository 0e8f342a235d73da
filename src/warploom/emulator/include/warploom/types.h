// Index and vector types of CUDA that both the user's program and the runtime see.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#endif

typedef struct uint3 {
  unsigned x, y, z;
} uint3;

#ifndef __cplusplus
typedef struct dim3 {
  unsigned x, y, z;
} dim3;
#else
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 _Wv) : x(_Wv.x), y(_Wv.y), z(_Wv.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
#endif

// Kept opaque: a handle is only ever passed back to the runtime.
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
