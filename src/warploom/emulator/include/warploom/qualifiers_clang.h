// How clang is told of kernels, pass by pass: see qualifiers.h.
#pragma once

#ifdef __CUDA_ARCH__
#define __global__ __attribute__((used, noinline, patchable_function_entry(1)))
#else
#define __global__ __attribute__((used, noinline, optnone, patchable_function_entry(1)))
#endif
