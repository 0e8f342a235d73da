// CUDA's keywords, for a host compiler.
#pragma once

#include "device.h"

// A kernel's instructions come from the device pass (guard/merge.cpp). The compiler lists kernels
// in a section for us, and must know nothing of them where they are called: the other pass's may
// differ. The architecture's macro must not be named here: one precompiled header then serves both
// passes of g++ (prefix.py).
#ifdef __clang__
#include "qualifiers_clang.h"
#else
#define __global__ __attribute__((used, noipa, patchable_function_entry(1)))
#endif
#define __device__
#define __host__
#define __constant__
// Where the rewriter sees the word it takes it away: what is left is what macros put together. The
// guard knows such variables by their section, whoever spelled them.
#define __managed__ __attribute__((section(".data.wl_managed")))
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...) __attribute__((aligned(::warploom::without_clusters<__VA_ARGS__>())))
#define __maxnreg__(...)
#define __block_size__(...)
#define __align__(_Wn) __attribute__((aligned(_Wn)))
#define __builtin_align__(_Wn) __attribute__((aligned(_Wn)))
#define __nv_pure__
#define __device_builtin__

// Programs ask by these which headers were read.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_CB
#define CUDARTAPI
#define CUDAAPI
#define CUDART_INF_F (__builtin_inff())
#define CUDART_INF (__builtin_inf())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_NAN (__builtin_nan(""))

// Constants of the types that nvcc gives them. What is no member of another name is a constant of
// the class's, which decltype shows.
#define threadIdx WARPLOOM_HERE._Wthread._Windex
#define blockIdx WARPLOOM_HERE._Wblock
#define blockDim (::warploom::as_dim3(WARPLOOM_SIZES._Wblock_size))
#define gridDim (::warploom::as_dim3(WARPLOOM_SIZES._Wgrid_size))
constexpr int warpSize = 32;

#define WARPLOOM_DEVICE_INLINE WARPLOOM_UNCHECKED inline
