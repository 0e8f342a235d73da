// A stand-in for the shims, so that the driver is tested apart from the real runtime.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define WARPLOOM_INLINED
typedef struct CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0 };
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct cudaDeviceProp {
  int major;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

extern "C" {
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaDeclaredOnly(int);
void fake_finding(const char* kind);
void fake_warning(const char* kind);
void fake_readback(const void* data, size_t bytes);
void fake_unsupported(const char* name);
void fake_end(const char* state);
void fake_raw(const char* line);
void fake_signed(const char* line);
int fake_rank();
const char* fake_config(const char* key);
}

namespace warploom {
struct LaunchConfig {
  dim3 g, b;
  size_t sh;
  cudaStream_t st;
  LaunchConfig(dim3 g_, dim3 b_, size_t sh_ = 0, cudaStream_t st_ = nullptr)
      : g(g_), b(b_), sh(sh_), st(st_) {}
};
template <class K>
struct Launch {
  LaunchConfig c;
  K k;
  template <class... A>
  int operator()(A... a) const {
    for (blockIdx.x = 0; blockIdx.x < c.g.x; blockIdx.x++)
      for (threadIdx.x = 0; threadIdx.x < c.b.x; threadIdx.x++) k(a...);
    return 0;
  }
};
template <class...>
void check_parameters() {}
template <class K>
Launch<K> launch_plain(const char*, LaunchConfig c, K k) {
  return {c, k};
}
}  // namespace warploom
